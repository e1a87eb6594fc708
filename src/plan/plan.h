/* plan.h - what plan.c and paper.c know of each other. */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "exchange/options.h"
#include "tithe/plan.h"

enum { PLAN_SPEC = 96 }; /* letters of a codec, with the zero behind them */

/* A level of compression: bytes, and how long one vector takes. */
typedef struct plan_level {
    double keep, frame, values, indices;
    double encode, decode, form; /* seconds: of one frame, and to form the vector in a pass of its own */
    const char *codec;           /* NULL: top-k */
    exchange_methods methods;    /* of the codec */
} plan_level;

/* The level of a codec, and what it holds (codecs.c). */
tithe_status ti_plan_codec_open(const tithe_plan_request *q, const tithe_plan_codec *codec, plan_level *level,
                                tithe_error *error);
void ti_plan_codec_close(plan_level *level);
/* How an exchange with that codec is configured under a scheme, over one of its collectives. */
tithe_exchange_config ti_plan_codec_config(const plan_level *level, const tithe_scheme *scheme,
                                           const char *collective);

/* A row from its rounds. */
tithe_plan_row ti_plan_row(const tithe_plan_request *q, const tithe_scheme *scheme, const char *collective,
                           const plan_level *l, const tithe_rounds *rounds);

/* The paper's own rows (paper.c): how many are dense, how many there are for a level, and all of one or the other kind. */
size_t ti_paper_rows(bool dense);
void ti_paper_fill(const tithe_plan_request *q, bool dense, const plan_level *l, tithe_plan_row *rows);

#endif
