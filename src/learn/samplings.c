/* samplings.c - the table of samplings, and the one that needs no tables. */
#include <stdio.h>
#include <string.h>

#include "base/family.h"
#include "learn/estimate.h"

static const tithe_sampling *const samplings[] = {&ti_sampling_uniform, &ti_sampling_importance,
                                                  &ti_sampling_file, NULL};

const tithe_sampling *const *tithe_samplings(void)
{
    return samplings;
}

static family_row row(size_t i)
{
    return samplings[i] ? (family_row){samplings[i]->name, samplings[i]->params} : (family_row){0};
}
static const family all = {.what = "sampling", .row = row};

static bool is_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file) fclose(file);
    return file != NULL;
}

/* The name of a file says that it is one, and so does the file. */
static bool looks_like_file(const char *spec)
{
    return strpbrk(spec, "/.") || is_file(spec);
}

tithe_status tithe_sampling_find(const char *spec, const tithe_sampling **kind, double *params,
                                 tithe_error *error)
{
    if (!spec) return ti_fail(error, TITHE_E_ARGUMENT, 0, "The name of a sampling is needed.");
    spec_piece name, arguments;
    size_t place;
    ti_spec_split((spec_piece){spec, 0, strlen(spec)}, &name, &arguments);
    const bool known = ti_family_place(&all, name, &place);
    if (!known && !looks_like_file(spec)) return ti_family_refuse(&all, name, error);
    const tithe_sampling *found = known ? samplings[place] : &ti_sampling_file;
    if (!found->takes_file) {
        const tithe_status status = ti_family_find(&all, spec, &place, params, error);
        if (status) return status;
    } else if (known && arguments.start == arguments.end) {
        return ti_fail(error, TITHE_E_SPEC, arguments.end, "The sampling '%s' needs a file: write %s:FILE.",
                       found->name, found->name);
    }
    *kind = found;
    return TITHE_OK;
}

const char *ti_sampling_path(const tithe_sampling *kind, const char *spec)
{
    const size_t length = strlen(kind->name);
    if (!kind->takes_file) return NULL;
    return strncmp(spec, kind->name, length) == 0 && spec[length] == ':' ? spec + length + 1 : spec;
}

/* ---- uniform ----------------------------------------------------------------------------------------------- */

static double largest(const tithe_constants *c)
{
    return c->L_US;
}

const tithe_sampling ti_sampling_uniform = {
    .name = "uniform",
    .summary = "every row of a worker alike",
    .script_L = largest,
};
