/* inspect_trace.c - see inspect_trace.h. */
#include "inspect_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "text.h"
#include "tithe/trace.h"

bool inspect_is_trace(const uint8_t *data, size_t length)
{
    static const char start[] = "# name:";
    return length >= sizeof start - 1 && memcmp(data, start, sizeof start - 1) == 0;
}

static double number_at(const tithe_trace *trace, size_t i, const tithe_column *c)
{
    return *(const double *)(const void *)((const char *)tithe_trace_at(trace, i) + c->offset);
}

/* How many records know this column, and what the first and the last of these say. */
typedef struct column_range {
    size_t known;
    double first, last;
} column_range;

static column_range range_of(const tithe_trace *trace, const tithe_column *c)
{
    column_range r = {0, NAN, NAN};
    for (size_t i = 0; i < tithe_trace_count(trace); i++) {
        const double value = number_at(trace, i, c);
        if (isnan(value)) continue;
        if (r.known++ == 0) r.first = value;
        r.last = value;
    }
    return r;
}

/* A text of the file in one line: a control character could tell the terminal to do something. */
static char *one_line(const char *text)
{
    char *line = text_copy(text);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127) *c = ' ';
    return line;
}

/* Bytes and steps to the last digit; what was measured in a few. */
static text_number number_text(double value)
{
    const bool whole = value >= 0 && value < 0x1p53 && value == floor(value);
    return whole ? text_group((uint64_t)value) : text_short(value);
}

static void print_trace(const char *name, const tithe_trace *trace)
{
    const size_t count = tithe_trace_count(trace);
    char *run = one_line(tithe_trace_name(trace));
    printf("%s: the trace of %s, %s record%s\n\n", name, run, text_group(count).text, count == 1 ? "" : "s");
    free(run);
    for (size_t i = 0; i < tithe_trace_fact_count(trace); i++) {
        const char *key, *value;
        tithe_trace_fact_at(trace, i, &key, &value);
        char *line = one_line(value);
        printf("  %-16s  ", key);
        text_wrap(stdout, 20, 20, line);
        free(line);
    }
    if (count == 0) {
        printf("  no record: the run stopped before its first step was looked at\n");
        return;
    }
    printf("\n  %-16s  %15s  %15s  %s\n", "column", "first", "last", "what");
    for (const tithe_column *c = tithe_columns(); c->name; c++) {
        if (c->kind != TITHE_COLUMN_NUMBER) continue;
        const column_range r = range_of(trace, c);
        if (!r.known) continue;
        printf("  %-16s  %15s  %15s  %s%s%s\n", c->name, number_text(r.first).text, number_text(r.last).text,
               c->doc, *c->unit ? ", " : "", c->unit);
    }
}

static cJSON *trace_json(const tithe_trace *trace)
{
    cJSON *json = json_object(), *facts = json_object(), *columns = json_object();
    json_text(json, "kind", "trace");
    json_text(json, "name", tithe_trace_name(trace));
    json_count(json, "records", tithe_trace_count(trace));
    for (size_t i = 0; i < tithe_trace_fact_count(trace); i++) {
        const char *key, *value;
        tithe_trace_fact_at(trace, i, &key, &value);
        json_text(facts, key, value);
    }
    json_item(json, "facts", facts);
    for (const tithe_column *c = tithe_columns(); c->name; c++) {
        if (c->kind != TITHE_COLUMN_NUMBER) continue;
        const column_range r = range_of(trace, c);
        if (!r.known) continue;
        cJSON *column = json_object();
        json_count(column, "known", r.known);
        json_number(column, "first", r.first);
        json_number(column, "last", r.last);
        json_item(columns, c->name, column);
    }
    json_item(json, "columns", columns);
    return json;
}

int inspect_trace(const char *name, const uint8_t *data, size_t length, const char *json)
{
    tithe_trace *trace = NULL;
    tithe_error error = {0};
    const tithe_status status = tithe_trace_parse(name, (const char *)data, length, &trace, &error);
    if (status) return text_fail_status(NULL, status, &error);

    int result = EXIT_DONE;
    if (json && !json_write(json, trace_json(trace))) result = EXIT_BAD;
    if (!result && !json_alone(json)) print_trace(name, trace);
    tithe_trace_free(trace);
    return result;
}
