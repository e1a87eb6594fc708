/* fuzz_trace.c - any text as a trace, read once as it is and once cut off in the middle: a beginning of a trace is
 * one, with no more records. What is refused has a sentence and a position inside the text.
 *
 * input: text */
#include "fuzz.h"

#include "tithe/trace.h"

/* Touches everything that a reader may touch. */
static void walk(const tithe_trace *trace)
{
    size_t letters = strlen(tithe_trace_name(trace));
    for (size_t i = 0; i < tithe_trace_fact_count(trace); i++) {
        const char *key, *value;
        tithe_trace_fact_at(trace, i, &key, &value);
        insist(key[0] && strcmp(key, "name") != 0 && !strchr(key, ':'), "a key '%s'", key);
        insist(strcmp(tithe_trace_find(trace, key), value) == 0, "'%s' is not found", key);
        letters += strlen(value);
    }
    for (size_t i = 0; i < tithe_trace_count(trace); i++) {
        const tithe_trace_record *r = tithe_trace_at(trace, i);
        letters += strlen(r->scheme) + strlen(r->collective) + strlen(r->reason);
    }
    insist(letters < (size_t)1 << 40, "%zu letters", letters);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tithe_error error = {0};
    tithe_trace *trace = NULL, *part = NULL;
    const tithe_status status = tithe_trace_parse("fuzz", (const char *)data, size, &trace, &error);
    if (status) {
        insist(status == TITHE_E_DATA && error.code == status && !trace, "status %d", (int)status);
        insist(strncmp(error.text, "fuzz:", 5) == 0 && error.position <= size, "position %zu",
               error.position);
        return 0;
    }
    walk(trace);
    if (!tithe_trace_parse("fuzz", (const char *)data, size / 2, &part, &error)) {
        walk(part);
        insist(tithe_trace_count(part) <= tithe_trace_count(trace), "half has more");
    } else {
        insist(!memchr(data, '\n', size / 2), "a beginning is refused: %s", error.text);
    }
    tithe_trace_free(trace);
    tithe_trace_free(part);
    return 0;
}
