/* forming.h - x = e + gamma g, formed by whoever first passes over it: a vector that is read anyway is added to on the way. */
#ifndef TUNER_FORMING_H
#define TUNER_FORMING_H

#include "kernels/kernels.h"
#include "tuner/late.h"

typedef struct forming {
    float *e; /* becomes x */
    const float *g;
    float gamma;
    size_t n, done;    /* so many of the n are x by now */
    double squares;    /* |x|^2 of these */
    late_memory *late; /* which looks at g on the way; or NULL */
    bool wrong;        /* something is not finite */
} forming;

/* Numbers that the second-level cache keeps, of e, g and the memory, between two looks at them. */
enum { FORM_TOGETHER = 1 << 17 };

/* The next part of x, and its entries that the job asks for, whose source and length are set here; how many there are. Where gamma g or x is not
 * finite it is `wrong`. */
size_t ti_forming_select(forming *f, const select_job *job);
/* All that is left. False: g is not finite, and what comes from there on was not added; x may be. */
bool ti_forming_rest(forming *f);
/* Where it is wrong: the position of what is not finite in g, or else in gamma g or x. */
size_t ti_forming_bad(const forming *f);

#endif
