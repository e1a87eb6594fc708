/* trace.c - a trace in memory: a name, facts, and records whose texts it owns. */
#include "report/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

typedef struct fact {
    char *key, *value;
} fact;

/* Texts of records stay where they are until the trace goes, since records point at them. */
typedef struct kept_text {
    struct kept_text *next;
    char text[];
} kept_text;

struct tithe_trace {
    char *name;
    fact *facts;
    size_t fact_count, fact_capacity;
    tithe_trace_record *records;
    size_t count, capacity;
    kept_text *texts;
};

static char *copy_text(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* The same memory with room for one more element, perhaps elsewhere. NULL: there is none, and nothing has changed. */
static void *grown(void *memory, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity) return memory;
    const size_t more = *capacity ? *capacity * 2 : 16;
    void *larger = more <= SIZE_MAX / size ? realloc(memory, more * size) : NULL;
    if (larger) *capacity = more;
    return larger;
}

tithe_trace_record ti_record_unknown(void)
{
    tithe_trace_record record;
    for (const tithe_column *c = tithe_columns(); c->name; c++) {
        if (c->kind == TITHE_COLUMN_NUMBER)
            *ti_number_of(&record, c) = NAN;
        else
            *ti_text_of(&record, c) = "";
    }
    return record;
}

bool ti_key_is_fine(const char *key)
{
    const size_t length = key ? strlen(key) : 0;
    if (length == 0 || key[0] == ' ' || key[length - 1] == ' ' || strcmp(key, "name") == 0) return false;
    for (size_t i = 0; i < length; i++)
        if (key[i] == ':' || (unsigned char)key[i] < 32 || key[i] == 127) return false;
    return true;
}

tithe_status tithe_trace_create(const char *name, tithe_trace **trace, tithe_error *error)
{
    if (!name || !trace) return ti_fail(error, TITHE_E_ARGUMENT, 0, "A trace needs a name.");
    tithe_trace *t = calloc(1, sizeof *t);
    if (t) t->name = copy_text(name);
    if (!t || !t->name) {
        free(t);
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is no memory for a trace.");
    }
    *trace = t;
    return TITHE_OK;
}

void tithe_trace_free(tithe_trace *trace)
{
    if (!trace) return;
    for (size_t i = 0; i < trace->fact_count; i++) {
        free(trace->facts[i].key);
        free(trace->facts[i].value);
    }
    for (kept_text *t = trace->texts, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    free(trace->facts);
    free(trace->records);
    free(trace->name);
    free(trace);
}

tithe_status tithe_trace_fact(tithe_trace *trace, const char *key, const char *value)
{
    if (!trace || !value || !ti_key_is_fine(key)) return TITHE_E_ARGUMENT;
    char *new_value = copy_text(value);
    if (!new_value) return TITHE_E_MEMORY;
    for (size_t i = 0; i < trace->fact_count; i++) {
        if (strcmp(trace->facts[i].key, key) == 0) {
            free(trace->facts[i].value);
            trace->facts[i].value = new_value;
            return TITHE_OK;
        }
    }
    char *new_key = copy_text(key);
    fact *facts = grown(trace->facts, &trace->fact_capacity, trace->fact_count, sizeof *facts);
    if (facts) trace->facts = facts;
    if (!new_key || !facts) {
        free(new_key);
        free(new_value);
        return TITHE_E_MEMORY;
    }
    trace->facts[trace->fact_count++] = (fact){new_key, new_value};
    return TITHE_OK;
}

/* The text of the record before is used again where it is the same, as it mostly is. NULL: no memory. */
static const char *keep_text(tithe_trace *trace, const tithe_column *column, const char *text)
{
    if (!text || !*text) return "";
    if (trace->count > 0) {
        const char *before = ti_text_at(&trace->records[trace->count - 1], column);
        if (strcmp(before, text) == 0) return before;
    }
    const size_t size = strlen(text) + 1;
    kept_text *kept = malloc(sizeof *kept + size);
    if (!kept) return NULL;
    memcpy(kept->text, text, size);
    kept->next = trace->texts;
    trace->texts = kept;
    return kept->text;
}

tithe_status tithe_trace_add(tithe_trace *trace, const tithe_trace_record *record)
{
    if (!trace || !record) return TITHE_E_ARGUMENT;
    tithe_trace_record copy = *record;
    for (const tithe_column *c = tithe_columns(); c->name; c++) {
        if (c->kind != TITHE_COLUMN_TEXT) continue;
        const char *text = keep_text(trace, c, *ti_text_of(&copy, c));
        if (!text) return TITHE_E_MEMORY;
        *ti_text_of(&copy, c) = text;
    }
    tithe_trace_record *records = grown(trace->records, &trace->capacity, trace->count, sizeof *records);
    if (!records) return TITHE_E_MEMORY;
    trace->records = records;
    trace->records[trace->count++] = copy;
    return TITHE_OK;
}

const char *tithe_trace_name(const tithe_trace *trace)
{
    return trace->name;
}

size_t tithe_trace_count(const tithe_trace *trace)
{
    return trace->count;
}

const tithe_trace_record *tithe_trace_at(const tithe_trace *trace, size_t i)
{
    return i < trace->count ? &trace->records[i] : NULL;
}

size_t tithe_trace_fact_count(const tithe_trace *trace)
{
    return trace->fact_count;
}

void tithe_trace_fact_at(const tithe_trace *trace, size_t i, const char **key, const char **value)
{
    *key = i < trace->fact_count ? trace->facts[i].key : NULL;
    *value = i < trace->fact_count ? trace->facts[i].value : NULL;
}

const char *tithe_trace_find(const tithe_trace *trace, const char *key)
{
    for (size_t i = 0; i < trace->fact_count; i++)
        if (strcmp(trace->facts[i].key, key) == 0) return trace->facts[i].value;
    return NULL;
}
