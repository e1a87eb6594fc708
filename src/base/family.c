/* family.c - see family.h. */
#include "base/family.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

bool ti_family_place(const family *f, spec_piece name, size_t *place)
{
    for (size_t i = 0; f->row(i).name; i++)
        if (ti_spec_is(name, f->row(i).name)) {
            *place = i;
            return true;
        }
    return false;
}

void ti_list_add(char *list, size_t size, const char *between, const char *name)
{
    const size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s", used ? between : "", name);
}

tithe_status ti_family_refuse(const family *f, spec_piece name, tithe_error *error)
{
    char known[200] = "";
    if (f->also) ti_list_add(known, sizeof known, ", ", f->also);
    for (size_t i = 0; f->row(i).name; i++) ti_list_add(known, sizeof known, ", ", f->row(i).name);
    const size_t length = name.end - name.start;
    return ti_fail(error, TITHE_E_SPEC, name.start, "There is no %s '%.*s': take one of %s.", f->what,
                   (int)(length < 40 ? length : 40), name.text + name.start, known);
}

tithe_status ti_family_find(const family *f, const char *spec, size_t *place, double *values,
                            tithe_error *error)
{
    if (!spec || !place) return ti_fail(error, TITHE_E_ARGUMENT, 0, "The name of a %s is needed.", f->what);
    spec_piece name, arguments;
    ti_spec_split((spec_piece){spec, 0, strlen(spec)}, &name, &arguments);
    if (!ti_family_place(f, name, place)) return ti_family_refuse(f, name, error);
    const family_row row = f->row(*place);
    double own[TITHE_MAX_PARAMS];
    if (!values) values = own;
    for (size_t i = 0; i < TITHE_MAX_PARAMS; i++) values[i] = NAN;
    return ti_spec_read(row.name, arguments, row.params, values, error);
}
