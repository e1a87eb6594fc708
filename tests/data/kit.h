/* kit.h - what the tests of data share: files of their own, and opening with a sentence when it fails. */
#ifndef TESTS_DATA_KIT_H
#define TESTS_DATA_KIT_H

#include <unistd.h>

#include "support.h"
#include "tithe/data.h"

/* Everything a test writes goes here; made by kit_setup, removed by kit_teardown. */
static char kit_directory[64];

static inline int kit_setup(void **state)
{
    (void)state;
    snprintf(kit_directory, sizeof kit_directory, "/tmp/tithe-data-XXXXXX");
    return mkdtemp(kit_directory) ? 0 : 1;
}

static inline int kit_teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", kit_directory);
    return system(command) == 0 ? 0 : 1;
}

/* Valid until the next call but three. */
static inline const char *kit_path(const char *name)
{
    static char paths[4][256];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", kit_directory, name);
    return path;
}

static inline const char *kit_write(const char *name, const void *bytes, size_t size)
{
    const char *path = kit_path(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return path;
}

static inline const char *kit_text(const char *name, const char *text)
{
    return kit_write(name, text, strlen(text));
}

static inline tithe_data *kit_open_with(const char *source, tithe_data_options options)
{
    tithe_data *data = NULL;
    tithe_error error = {0};
    if (tithe_data_open(source, &options, &data, &error)) fail_msg("%s: %s", source, error.text);
    return data;
}

static inline tithe_data *kit_open(const char *source)
{
    return kit_open_with(source, (tithe_data_options){0});
}

/* Refused with this status and a sentence that contains `part`. */
static inline void kit_refused_with(const char *source, tithe_data_options options, tithe_status status,
                                    const char *part)
{
    tithe_data *data = NULL;
    tithe_error error = {0};
    const tithe_status answer = tithe_data_open(source, &options, &data, &error);
    expect(answer == status, "%s: status %d instead of %d (%s)", source, answer, status, error.text);
    expect(error.code == status && !data, "%s: the error is not filled in", source);
    expect(strstr(error.text, part) != NULL, "%s: \"%s\" lacks \"%s\"", source, error.text, part);
    expect(strlen(error.text) + 1 < sizeof error.text, "%s: the sentence was cut: %s", source, error.text);
    expect(error.text[strlen(error.text) - 1] == '.' || error.text[strlen(error.text) - 1] == '?',
           "%s: no sentence: %s", source, error.text);
}

static inline void kit_refused(const char *source, tithe_status status, const char *part)
{
    kit_refused_with(source, (tithe_data_options){0}, status, part);
}

static inline double kit_value(const tithe_data *d, size_t row, size_t feature)
{
    if (!d->offsets) return (double)d->values[row * d->features + feature];
    for (size_t k = d->offsets[row]; k < d->offsets[row + 1]; k++)
        if (d->indices[k] == feature) return (double)d->values[k];
    return 0;
}

#endif
