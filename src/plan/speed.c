/* speed.c - how fast frames are made and taken up here: of top-k two levels tell the cost of a value from that of an entry.
 *
 * Timed is what a step does: clear the update, add the gradient to the residual, select, encode; then decode into the update. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/status.h"
#include "kernels/kernels.h"
#include "plan/plan.h"

enum { VALUES = 1 << 23, ROUNDS = 3 };

typedef struct trial {
    float *x, *residual, *y;
    uint8_t *frame;
    void *scratch;
    size_t capacity, scratch_size;
    const tithe_codec *codec;
    bool keeps; /* error compensation */
} trial;

static tithe_status make_trial(trial *t, tithe_error *error)
{
    t->capacity = tithe_codec_bound(t->codec, VALUES);
    t->scratch_size = tithe_codec_scratch(t->codec, VALUES);
    t->x = malloc(VALUES * sizeof *t->x);
    t->residual = calloc(VALUES, sizeof *t->residual);
    t->y = calloc(VALUES, sizeof *t->y);
    t->frame = malloc(t->capacity);
    t->scratch = malloc(t->scratch_size);
    if (!t->x || !t->residual || !t->y || !t->frame || !t->scratch)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to measure codecs.");
    for (size_t i = 0; i < VALUES;
         i++) { /* a bell, from a sum of four; below 2, so that every codec can write it */
        const uint64_t r = rng_mix(i * RNG_GOLDEN);
        t->x[i] = 0x1p-16f * ((float)(r & 0xffff) + (float)(r >> 16 & 0xffff) - (float)(r >> 32 & 0xffff) -
                              (float)(r >> 48));
    }
    return TITHE_OK;
}

static void free_trial(trial *t)
{
    free(t->x);
    free(t->residual);
    free(t->y);
    free(t->frame);
    free(t->scratch);
}

static tithe_status encode_vector(trial *t, const tithe_call *call, tithe_frame_info *info,
                                  tithe_error *error)
{
    return t->keeps ? tithe_ec_encode(t->codec, call, t->residual, t->x, 1, VALUES, t->frame, t->capacity,
                                      info, error)
                    : tithe_encode(t->codec, call, t->x, VALUES, t->frame, t->capacity, info, error);
}

/* The fastest of a few calls: what disturbs only makes longer. */
static tithe_status time_level(trial *t, double entries, double *encode, double *decode, tithe_error *error)
{
    const tithe_call call = {
        .level = entries, .form = TITHE_EXCHANGE, .scratch = t->scratch, .scratch_size = t->scratch_size};
    *encode = *decode = INFINITY;
    tithe_status status = TITHE_OK;
    for (int i = 0; i < ROUNDS && !status; i++) {
        tithe_frame_info info;
        const double start = clock_now();
        memset(t->y, 0, VALUES * sizeof *t->y);
        status = encode_vector(t, &call, &info, error);
        const double middle = clock_now();
        if (!status) status = tithe_decode_add(t->codec, &call, t->frame, info.bytes, 1, t->y, VALUES, error);
        *encode = fmin(*encode, middle - start);
        *decode = fmin(*decode, clock_now() - middle);
    }
    return status;
}

/* The residual and the gradient into one vector, after a look for NaN. */
static tithe_status time_forming(trial *t, double *seconds, tithe_error *error)
{
    const tithe_feedback *ec;
    const tithe_status status = tithe_feedback_find("ec", &ec, NULL, error);
    if (status) return status;
    const tithe_feedback_call call = {.residual = t->residual, .g = t->x, .gamma = 1, .n = VALUES};
    *seconds = INFINITY;
    for (int i = 0; i < ROUNDS; i++) {
        const double start = clock_now();
        if (ti_find_nonfinite(TITHE_F32, t->x, VALUES) == VALUES) ec->form(&call);
        *seconds = fmin(*seconds, clock_now() - start);
    }
    return TITHE_OK;
}

tithe_status tithe_speed_measure(tithe_speed *speed, tithe_error *error)
{
    tithe_codec *codec;
    const tithe_codec_options open = {.open_level = true};
    tithe_status status = tithe_codec_create("topk|raw", &open, &codec, error);
    if (status) return status;
    trial t = {.codec = codec, .keeps = true};
    const double few = VALUES / 1000.0, many = VALUES / 20.0;
    double encode_few, decode_few, encode_many, decode_many, forming;
    status = make_trial(&t, error);
    if (!status) status = time_level(&t, few, &encode_few, &decode_few, error);
    if (!status) status = time_level(&t, many, &encode_many, &decode_many, error);
    if (!status) status = time_forming(&t, &forming, error);
    if (!status) {
        speed->form_value = forming / VALUES;
        speed->encode_entry = fmax(0, (encode_many - encode_few) / (many - few));
        speed->encode_value = fmax(0, encode_few - few * speed->encode_entry) / VALUES;
        speed->decode_entry = decode_many / many;
    }
    free_trial(&t);
    tithe_codec_free(codec);
    return status;
}

tithe_status tithe_speed_measure_codec(tithe_plan_codec *codec, tithe_error *error)
{
    plan_level level;
    const tithe_plan_request q = {.params = VALUES};
    tithe_status status = ti_plan_codec_open(&q, codec, &level, error);
    if (status) return status;
    trial t = {.codec = level.methods.codec, .keeps = level.methods.feedback->keeps};
    double encoding, decoding;
    status = make_trial(&t, error);
    if (!status) status = time_level(&t, 0, &encoding, &decoding, error);
    if (!status) {
        codec->encode_value = encoding / VALUES;
        codec->decode_value = decoding / VALUES;
    }
    free_trial(&t);
    ti_plan_codec_close(&level);
    return status;
}
