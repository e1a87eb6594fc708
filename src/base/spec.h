/* spec.h - read and write `name:key=value,key=value`, the one notation for everything that has parameters.
 *
 * The table of parameters that a variant carries is all the parser needs, so a wrong key or value is answered
 * with what would have been right. Positions in errors count from the start of the whole text. */
#ifndef BASE_SPEC_H
#define BASE_SPEC_H

#include "tithe/variant.h"

/* A piece text[start, end) of a spec. */
typedef struct spec_piece {
    const char *text;
    size_t start, end;
} spec_piece;

/* The name before the colon, white space trimmed, and what follows the colon (empty when there is none). */
void ti_spec_split(spec_piece piece, spec_piece *name, spec_piece *arguments);
bool ti_spec_is(spec_piece name, const char *word);

/* Fill values[] in the order of the table: what is stated, else NAN. Defaults are applied by
 * ti_spec_defaults, since a caller may want to know what was stated. */
tithe_status ti_spec_read(const char *owner, spec_piece arguments, const tithe_param *table, double *values,
                          tithe_error *error);
/* An option that says the same as a parameter: its text (NULL: not given) takes effect where the spec states nothing, and is
 * refused where it states something else. `key` has to be in the table. */
tithe_status ti_spec_shorthand(const char *owner, const tithe_param *table, const char *key, const char *text,
                               double *values, tithe_error *error);
/* Is this value of this parameter one that the table allows? The same sentence for text and for numbers. */
tithe_status ti_spec_check(const char *owner, const tithe_param *param, double value, size_t position,
                           tithe_error *error);
void ti_spec_defaults(const tithe_param *table, double *values);

/* The place of a parameter in a table, or -1. */
int ti_spec_find(const tithe_param *table, const char *name);
size_t ti_spec_count(const tithe_param *table);

/* name:key=value for all that differs from its default; never writes past size, always ends with a NUL. */
void ti_spec_write(char *dst, size_t size, const char *name, const tithe_param *table, const double *values);

#endif
