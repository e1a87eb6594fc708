/* ec.c - error compensation: e <- e + gamma*g, send C(e), e <- e - C(e). Key: danilova2022.
 *
 * The encoder hands out what the decoder will see, block by block, and that goes straight into e with a minus
 * sign: the frame is not decoded again, and a value that was sent exactly leaves an exact zero. */
#include <math.h>

#include "codec/codec.h"
#include "tithe/feedback.h"

static tithe_status expect_sense(const tithe_codec *codec, const tithe_call *call, const void *e, double gamma, size_t n,
                                 tithe_type type, tithe_error *error)
{
    if (!codec || !call || (!e && n)) return ti_fail(error, TITHE_E_ARGUMENT, 0, "Codec, call and e are all needed.");
    if (!(gamma > 0) || !isfinite(gamma))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "The step size is %g, but must be positive and finite.", gamma);
    const tithe_status status = ti_codec_expect_type(codec, type, error);
    if (status) return status;
    const double omega = tithe_codec_claims(codec, n).omega;
    if (omega >= 1)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "%s has omega = %.3g, and what is kept would blow up from 1 on: write scale=contractive.",
                       codec->spec, omega);
    return TITHE_OK;
}

static tithe_status ec_encode(const tithe_codec *codec, const tithe_call *call, const encode_input *in, uint8_t *frame,
                              size_t capacity, tithe_frame_info *info, tithe_error *error)
{
    tithe_call scaled = *call;
    if (codec->selector->absolute) { /* the threshold is stated in units of the gradient */
        const double lambda = call->level > 0 ? call->level : codec->selector_params[0];
        scaled.level = in->gamma * lambda;
    }
    return ti_encode(codec, &scaled, in, frame, capacity, info, error);
}

tithe_status tithe_ec_encode(const tithe_codec *codec, const tithe_call *call, float *e, const float *g, float gamma,
                             size_t n, uint8_t *frame, size_t capacity, tithe_frame_info *info, tithe_error *error)
{
    const tithe_status status = expect_sense(codec, call, e, (double)gamma, n, TITHE_F32, error);
    const encode_input in = {.x = e, .n = n, .keep = e, .gradient = g, .gamma = (double)gamma};
    return status ? status : ec_encode(codec, call, &in, frame, capacity, info, error);
}

tithe_status tithe_ec_encode_f64(const tithe_codec *codec, const tithe_call *call, double *e, const double *g,
                                 double gamma, size_t n, uint8_t *frame, size_t capacity, tithe_frame_info *info,
                                 tithe_error *error)
{
    const tithe_status status = expect_sense(codec, call, e, gamma, n, TITHE_F64, error);
    const encode_input in = {.x = e, .n = n, .keep = e, .gradient = g, .gamma = gamma};
    return status ? status : ec_encode(codec, call, &in, frame, capacity, info, error);
}
