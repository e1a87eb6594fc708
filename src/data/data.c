/* data.c - finds a data set by path, name or spec, and finishes what its source made. */
#include "data/data.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/spec.h"
#include "base/status.h"

enum { PATH = 4096 };

/* ---- the table ---------------------------------------------------------------------------------------------------- */

/* Each is the first member of its data_maker, which is how maker_of finds the rest. */
static const tithe_data_source *const sources[] = {
    &ti_data_gen_sparse.source, &ti_data_gen_dense.source,    &ti_data_a9a_like.source,
    &ti_data_w8a_like.source,   &ti_data_gisette_like.source, &ti_data_rcv1_like.source,
    &ti_data_url_like.source,   &ti_data_mnist.source,        &ti_data_mnist_test.source,
    &ti_data_fashion.source,    &ti_data_fashion_test.source, NULL,
};

static const data_maker *maker_of(const tithe_data_source *source)
{
    return (const data_maker *)source;
}

const tithe_data_source *const *tithe_data_sources(void)
{
    return sources;
}

/* ---- names -------------------------------------------------------------------------------------------------------- */

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

bool ti_data_find_file(const char *path, char *found, size_t size)
{
    static const char *const suffixes[] = {"", ".gz", ".bz2", ".xz", ".zst"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if ((size_t)snprintf(found, size, "%s%s", path, suffixes[i]) < size && is_file(found)) return true;
    return false;
}

const char *ti_data_directory(const tithe_data_options *options)
{
    const char *directory = options->directory ? options->directory : getenv("TITHE_DATA");
    return directory && *directory ? directory : NULL;
}

/* Text before the last suffix of a compressed file, without the directories. */
static void name_of_path(const char *path, char *name, size_t size)
{
    const char *base = strrchr(path, '/');
    snprintf(name, size, "%s", base ? base + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot && dot > name &&
        (!strcmp(dot, ".gz") || !strcmp(dot, ".bz2") || !strcmp(dot, ".xz") || !strcmp(dot, ".zst")))
        *dot = 0;
}

/* Names in the directory, as many as fit, in the order of the alphabet. */
static void list_directory(const char *directory, char *list, size_t size)
{
    struct dirent **entries = NULL;
    const int count = scandir(directory, &entries, NULL, alphasort);
    size_t used = 0;
    list[0] = 0;
    char previous[128] = "";
    for (int i = 0; i < count; i++) {
        char name[128];
        name_of_path(entries[i]->d_name, name, sizeof name);
        free(entries[i]);
        const bool is_data = name[0] != '.' && strncmp(name, "README", 6) != 0 && !strstr(name, "-idx");
        if (!is_data || strcmp(name, previous) == 0 || used >= size) continue;
        snprintf(previous, sizeof previous, "%s", name);
        const bool fits = used + strlen(name) + 7 < size;
        const int n = snprintf(list + used, size - used, "%s%s", used ? ", " : "", fits ? name : "...");
        used = fits ? used + (size_t)n : size;
    }
    free(entries);
    if (!list[0]) snprintf(list, size, count < 0 ? "nothing that can be read" : "nothing");
}

static tithe_status refuse_name(const char *source, const tithe_data_options *options, tithe_error *error)
{
    char names[110], list[76];
    size_t used = 0;
    for (const tithe_data_source *const *s = sources; *s && used < sizeof names; s++) {
        const char *name = (*s)->name, *dash = strrchr(name, '-');
        if (dash && strcmp(dash, "-test") == 0)
            continue; /* one sentence has room for the sets, not for their parts */
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? " " : "", name);
    }
    const char *directory = ti_data_directory(options);
    if (directory)
        list_directory(directory, list, sizeof list);
    else
        snprintf(list, sizeof list, "unknown: set TITHE_DATA");
    const size_t length = strlen(source);
    return ti_fail(error, TITHE_E_FILE, 0, "No data \"%s%s\". Built in: %s; data directory: %s.",
                   length > 20 ? "..." : "", length > 20 ? source + length - 20 : source, names, list);
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

/* `name`, or `name:` and parameters. */
static const data_maker *find_maker(const char *source)
{
    for (const tithe_data_source *const *s = sources; *s; s++) {
        const size_t length = strlen((*s)->name);
        if (strncmp(source, (*s)->name, length) == 0 && (source[length] == 0 || source[length] == ':'))
            return maker_of(*s);
    }
    return NULL;
}

static tithe_status make(const data_maker *maker, const char *source, const tithe_data_options *options,
                         data_rows *d, char *name, size_t size, tithe_error *error)
{
    const char *owner = maker->source.name;
    const size_t length = strlen(owner), end = strlen(source);
    double params[TITHE_MAX_PARAMS];
    const spec_piece arguments = {source, length < end ? length + 1 : end, end};
    tithe_status status = ti_spec_read(owner, arguments, maker->source.params, params, error);
    if (status) return status;
    ti_spec_defaults(maker->source.params, params);
    ti_spec_write(name, size, owner, maker->source.params, params);
    return maker->make(&(data_request){options, params}, d, error);
}

static tithe_status read_path(const char *path, data_rows *d, char *name, size_t size, tithe_error *error)
{
    data_file *file = NULL;
    tithe_status status = ti_data_file_open(path, &file, error);
    if (status) return status;
    status =
        ti_data_is_idx(file) ? ti_data_read_idx(file, path, d, error) : ti_data_read_libsvm(file, d, error);
    ti_data_file_close(file);
    name_of_path(path, name, size);
    return status;
}

static tithe_status find(const char *source, const tithe_data_options *options, data_rows *d, char *name,
                         size_t size, tithe_error *error)
{
    const data_maker *maker = find_maker(source);
    if (maker) return make(maker, source, options, d, name, size, error);

    char path[PATH], found[PATH];
    struct stat info;
    if (strchr(source, '/') || stat(source, &info) == 0) return read_path(source, d, name, size, error);
    const char *directory = ti_data_directory(options);
    if (directory && *source &&
        (size_t)snprintf(path, sizeof path, "%s/%s", directory, source) < sizeof path &&
        ti_data_find_file(path, found, sizeof found))
        return read_path(found, d, name, size, error);
    return refuse_name(source, options, error);
}

static tithe_status finish(data_rows *d, const tithe_data_options *options, tithe_data *made,
                           tithe_error *error)
{
    if (d->features == 0 && options->features == 0)
        return ti_fail(error, TITHE_E_DATA, 0, "%s has no features: no row has an index:value.", made->name);
    tithe_status status = ti_data_map_labels(d, options, made->name, &made->classes, error);
    if (!status) status = ti_data_settle(d, options->features, error);
    if (status) return status;
    if (options->normalize_rows) ti_data_normalize(d);
    made->hash = ti_data_hash(d);
    made->rows = made->total_rows = d->rows;
    made->features = d->features;
    made->nonzeros = d->count;
    made->offsets = d->offsets;
    made->indices = d->indices;
    made->values = d->values;
    made->labels = d->labels;
    *d = (data_rows){0}; /* theirs no more */
    return TITHE_OK;
}

tithe_status tithe_data_open(const char *source, const tithe_data_options *options, tithe_data **data,
                             tithe_error *error)
{
    const tithe_data_options defaults = {0};
    if (!source || !data) return ti_fail(error, TITHE_E_ARGUMENT, 0, "Data needs a path, a name or a spec.");
    if (!options) options = &defaults;
    tithe_data *made = calloc(1, sizeof *made);
    if (!made) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to open data.");
    data_rows d = {.max_bytes = tithe_data_max_memory(options), .name = source};
    tithe_status status = find(source, options, &d, made->name, sizeof made->name, error);
    if (!status) status = finish(&d, options, made, error);
    ti_data_rows_free(&d);
    if (status)
        free(made);
    else
        *data = made;
    return status;
}

void tithe_data_free(tithe_data *data)
{
    if (!data) return;
    free((void *)data->offsets);
    free((void *)data->indices);
    free((void *)data->values);
    free((void *)data->labels);
    free((void *)data->begin);
    free((void *)data->original);
    free(data);
}
