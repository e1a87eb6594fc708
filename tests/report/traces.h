/* traces.h - records to test with. */
#ifndef TESTS_REPORT_TRACES_H
#define TESTS_REPORT_TRACES_H

#include <unistd.h>

#include "report/trace.h"
#include "support.h"

static inline tithe_trace *trace_of(const char *name)
{
    tithe_trace *trace = NULL;
    tithe_error error = {0};
    if (tithe_trace_create(name, &trace, &error)) fail_msg("%s", error.text);
    return trace;
}

/* Record i: only step, loss and level are known. */
static inline tithe_trace_record plain_record(size_t i, double loss, double level)
{
    tithe_trace_record r = ti_record_unknown();
    r.step = (double)i;
    r.loss = loss;
    r.level = level;
    return r;
}

static inline void add_plain(tithe_trace *trace, size_t i, double loss, double level)
{
    const tithe_trace_record r = plain_record(i, loss, level);
    assert_int_equal(tithe_trace_add(trace, &r), TITHE_OK);
}

/* A file of this process in the working directory. */
typedef struct test_path {
    char text[64];
} test_path;

static inline test_path path_of(const char *stem)
{
    test_path path;
    snprintf(path.text, sizeof path.text, "%s.%ld.tmp", stem, (long)getpid());
    return path;
}

/* All of a file, with a NUL behind it. */
static inline char *contents_of(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    text[size] = 0;
    fclose(file);
    if (length) *length = (size_t)size;
    return text;
}

#endif
