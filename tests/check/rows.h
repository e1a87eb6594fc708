/* rows.h - keep the rows of a check and ask about them. */
#ifndef TESTS_CHECK_ROWS_H
#define TESTS_CHECK_ROWS_H

#include <stdio.h>
#include <string.h>

#include "tithe/check.h"

typedef struct rows {
    tithe_check_row list[64];
    size_t count;
    size_t failed;
    bool print; /* those that fail */
} rows;

static inline bool keep_row(void *context, const tithe_check_row *row)
{
    rows *r = context;
    if (r->count < sizeof r->list / sizeof *r->list) r->list[r->count++] = *row;
    r->failed += !row->holds;
    if (r->print && !row->holds)
        printf("%s: %s does not hold: measured %g, bound %g (%s)\n", row->spec, row->claim, row->measured,
               row->bound, row->detail);
    return true;
}

static inline const tithe_check_row *row_of(const rows *r, const char *claim)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->list[i].claim, claim) == 0) return &r->list[i];
    return NULL;
}

static inline bool row_fails(const rows *r, const char *claim)
{
    const tithe_check_row *row = row_of(r, claim);
    return row && !row->holds;
}

#endif
