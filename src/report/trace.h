/* trace.h - what the files of this layer share about traces. */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include "tithe/trace.h"

/* A column of a record, by its row in tithe_columns(). */
static inline double *ti_number_of(tithe_trace_record *record, const tithe_column *column)
{
    return (double *)(void *)((char *)record + column->offset);
}

static inline const char **ti_text_of(tithe_trace_record *record, const tithe_column *column)
{
    return (const char **)(void *)((char *)record + column->offset);
}

static inline double ti_number_at(const tithe_trace_record *record, const tithe_column *column)
{
    return *(const double *)(const void *)((const char *)record + column->offset);
}

static inline const char *ti_text_at(const tithe_trace_record *record, const tithe_column *column)
{
    const char *text = *(const char *const *)(const void *)((const char *)record + column->offset);
    return text ? text : "";
}

/* A record of which nothing is known. */
tithe_trace_record ti_record_unknown(void);

/* May it be the key of a fact? Not empty, no colon, no control character, no blank at either end, not "name". */
bool ti_key_is_fine(const char *key);

#endif
