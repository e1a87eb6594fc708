/* family.h - find a variant by its spec in the table of its family: one parser and one sentence for all of them.
 *
 * A family is everything that can stand in one place: the estimators, the schemes, the tuners. Its table is its own; this
 * asks it for one row after the other. */
#ifndef BASE_FAMILY_H
#define BASE_FAMILY_H

#include "base/spec.h"

/* What all variants have. The other two columns, summary and paper, are for readers. */
typedef struct family_row {
    const char *name; /* NULL: past the end of the table */
    const tithe_param *params;
} family_row;

typedef struct family {
    const char *what; /* "estimator": how its errors call it */
    const char *also; /* what may be written besides the names, such as "auto"; NULL: nothing */
    family_row (*row)(size_t i);
} family;

/* The row that `name:key=value,...` means, and the values of its parameters: TITHE_MAX_PARAMS of them, as stated, NAN
 * where nothing was. values may be NULL: they are checked and forgotten. An error lists what there is. */
tithe_status ti_family_find(const family *f, const char *spec, size_t *place, double *values,
                            tithe_error *error);
/* Its two halves, for families with a grammar of their own. False: there is no such name. */
bool ti_family_place(const family *f, spec_piece name, size_t *place);
tithe_status ti_family_refuse(const family *f, spec_piece name, tithe_error *error);

/* One more name for a list such as "ring|tree", in an error that offers some of a table; as much as there is room for. */
void ti_list_add(char *list, size_t size, const char *between, const char *name);

#endif
