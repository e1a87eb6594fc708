/* feedback.h - what becomes of what was not sent.
 *
 * Error compensation, one step of a worker (Danilova and Gorbunov; key danilova2022): e <- e + gamma*g, send C(e),
 * e <- e - C(e). e belongs to the caller: n numbers, zero before the first step, in units of the update. The absolute
 * threshold of `threshold` is meant in units of the gradient, so it acts on e + gamma*g as gamma*lambda.
 *
 * In an exchange `ec:decay=0.95` lets the residual fade: e <- 0.95 e + gamma*g. What is old when it could be sent is of little
 * use, as where messages are the differences of models after many local steps. A step that a rank skips, or that is refused, fades nothing. */
#ifndef TITHE_FEEDBACK_H
#define TITHE_FEEDBACK_H

#include "tithe/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Write the frame of e + gamma*g and leave in e what was not sent, without decoding the frame again. g may
 * be NULL: nothing new, send what is left. gamma must be positive. A codec that would blow up under
 * feedback (omega >= 1) is refused. capacity must be at least tithe_codec_bound. After any failure nothing
 * was sent, and e is as it was, up to the rounding of e + gamma*g. */
TITHE_API tithe_status tithe_ec_encode(const tithe_codec *codec, const tithe_call *call, float *e,
                                       const float *g, float gamma, size_t n, uint8_t *frame, size_t capacity,
                                       tithe_frame_info *info, tithe_error *error);
TITHE_API tithe_status tithe_ec_encode_f64(const tithe_codec *codec, const tithe_call *call, double *e,
                                           const double *g, double gamma, size_t n, uint8_t *frame,
                                           size_t capacity, tithe_frame_info *info, tithe_error *error);

/* ---- the kinds of feedback, as an exchange uses them --------------------------------------------------- */

/* One message of one worker. */
typedef struct tithe_feedback_call {
    const tithe_codec *codec;
    const tithe_call *call;
    /* n numbers of this worker from step to step, zero at the start: what was not sent; under ef21 the estimate, which is what was.
     * NULL where `keeps` is false. */
    float *residual;
    const float *g; /* the gradient */
    float gamma;    /* the step size, positive */
    size_t n;
    float *work; /* n numbers, free between calls; only where `works` is true */
    uint8_t *frame;
    size_t capacity;
} tithe_feedback_call;

typedef struct tithe_feedback {
    const char *name, *summary, *paper; /* paper NULL: of no paper */
    const tithe_param *params;          /* NULL: none */
    bool keeps;                         /* a residual of each worker from step to step */
    bool works;                         /* needs `work` */
    bool contracts;                     /* wants contractive codecs: they become the default of scale= */
    bool scaled;                        /* messages are in units of the update: gamma is in them already */
    bool aggregates; /* a step applies the sum of all messages so far, not of this step's alone */
    /* What is to be compressed: g itself, or a vector in `residual` or `work` that encode will take up again. */
    const float *(*form)(const tithe_feedback_call *c);
    /* Encode it, and keep what is to be kept. `formed`: form was called before (for those who look at the vector
     * first); otherwise this does all of it, in as few passes as it can, with the same result to the bit. */
    tithe_status (*encode)(const tithe_feedback_call *c, bool formed, tithe_frame_info *info,
                           tithe_error *error);
    /* What the residual is multiplied with ahead of each step, by params with their defaults. NULL: 1. */
    double (*decay)(const double *params);
} tithe_feedback;

TITHE_API const tithe_feedback *const *tithe_feedbacks(void); /* ends with NULL */
/* From its spec; params takes TITHE_MAX_PARAMS values, NAN where nothing was stated, or is NULL. */
TITHE_API tithe_status tithe_feedback_find(const char *spec, const tithe_feedback **feedback, double *params,
                                           tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
