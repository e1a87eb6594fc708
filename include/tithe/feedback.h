/* feedback.h - error compensation: what was not sent is kept, and sent later.
 *
 * One step of a worker (Danilova and Gorbunov; key danilova2022): e <- e + gamma*g, send C(e), e <- e - C(e).
 * e belongs to the caller: n numbers, zero before the first step, in units of the update. The absolute
 * threshold of `threshold` is meant in units of the gradient, so it acts on e + gamma*g as gamma*lambda. */
#ifndef TITHE_FEEDBACK_H
#define TITHE_FEEDBACK_H

#include "tithe/codec.h"

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

#ifdef __cplusplus
}
#endif
#endif
