/* fuzz_encode.c - any numbers through any codec: what was encoded decodes to finite numbers, no frame is longer than
 * promised, and under error feedback nothing gets lost.
 *
 * input: codec | form, feedback | seed | where the given indices lie | numbers, 4 or 8 bytes each */
#include "fuzz.h"

enum { PREFIX = 4 };

typedef struct encoding {
    const tithe_codec *codec;
    tithe_call call;
    size_t n, capacity;
    uint8_t *frame;
    tithe_frame_info info;
    tithe_error error;
} encoding;

static double number(tithe_type type, const void *x, size_t i)
{
    return type == TITHE_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static tithe_status encode(encoding *e, const void *x)
{
    return tithe_codec_type(e->codec) == TITHE_F64
               ? tithe_encode_f64(e->codec, &e->call, x, e->n, e->frame, e->capacity, &e->info, &e->error)
               : tithe_encode(e->codec, &e->call, x, e->n, e->frame, e->capacity, &e->info, &e->error);
}

static void insist_on_the_answer(encoding *e, tithe_status status, const void *x)
{
    const tithe_type type = tithe_codec_type(e->codec);
    const bool finite = fuzz_is_finite(type, x, e->n);
    if (status == TITHE_E_NONFINITE) {
        insist(!finite && !isfinite(number(type, x, e->error.position)), "position %zu is finite",
               e->error.position);
        return;
    }
    insist(finite, "%s: status %d for numbers that are not finite", tithe_codec_spec(e->codec), status);
    if (status == TITHE_E_RANGE) return;
    insist(status == TITHE_OK, "%s: %s", tithe_codec_spec(e->codec), e->error.text);
    insist(e->info.bytes <= tithe_codec_length(e->codec, e->n, e->info.entries, e->call.form),
           "%s: a long frame", tithe_codec_spec(e->codec));
    insist(fuzz_decode(e->codec, &e->call, e->frame, e->info.bytes, e->n) == TITHE_OK,
           "%s: refuses its own frame", tithe_codec_spec(e->codec));
}

/* e <- 0 + 1 * x, send C(e): then e + C(x) is x up to one rounding of each difference. */
static void feed_back(encoding *en, const float *x)
{
    const size_t n = en->n;
    float *e = fuzz_alloc(n * sizeof *e), *sent = fuzz_alloc(n * sizeof *sent);
    for (size_t i = 0; i < n; i++) e[i] = sent[i] = 0;
    const tithe_status status =
        tithe_ec_encode(en->codec, &en->call, e, x, 1, n, en->frame, en->capacity, &en->info, &en->error);
    if (status == TITHE_E_NONFINITE || status == TITHE_E_RANGE || status == TITHE_E_SPEC) {
        double scale = 0; /* e was zero, and is so again, up to rounding */
        for (size_t i = 0; i < n; i++) scale += isfinite(x[i]) ? fabs((double)x[i]) : 0;
        for (size_t i = 0; i < n; i++)
            insist(fabs((double)e[i]) <= 0x1p-20 * scale, "status %d left e[%zu] = %g of %g", status, i,
                   (double)e[i], (double)x[i]);
    }
    if (status == TITHE_E_SPEC)
        insist(claims_of(en->codec, n).omega >= 1, "%s", en->error.text);
    else if (status != TITHE_E_RANGE && status != TITHE_E_NONFINITE) {
        insist(status == TITHE_OK, "%s", en->error.text);
        insist(tithe_decode_add(en->codec, &en->call, en->frame, en->info.bytes, 1, sent, n, &en->error) ==
                   TITHE_OK,
               "%s: refuses the frame of its feedback", tithe_codec_spec(en->codec));
        for (size_t i = 0; i < n; i++) {
            const float rest = x[i] - sent[i];
            insist(e[i] == rest || (isinf(rest) && isinf(e[i])), "e[%zu] is %g, not %g - %g", i, (double)e[i],
                   (double)x[i], (double)sent[i]);
        }
    }
    free(e);
    free(sent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < PREFIX) return 0;
    encoding e = {.codec = fuzz_codec(data[0])};
    const tithe_type type = tithe_codec_type(e.codec);
    const size_t n = e.n = (size - PREFIX) / fuzz_width(type), segments[2] = {n / 2, n - n / 2};
    void *x = fuzz_alloc(n * fuzz_width(type));
    memcpy(x, data + PREFIX, n * fuzz_width(type));
    uint32_t *given = fuzz_alloc((n + 1) * sizeof *given);
    e.call =
        (tithe_call){.seed = data[2], .step = 1, .given = given, .segments = segments, .segment_count = 2};
    e.call.form = data[1] & 1 ? TITHE_EXCHANGE : TITHE_SELF_CONTAINED;
    for (size_t i = data[3]; i < n; i += 1 + data[3] % 3) given[e.call.given_count++] = (uint32_t)i;
    e.call.scratch_size = tithe_codec_scratch(e.codec, n);
    e.call.scratch = fuzz_alloc(e.call.scratch_size);
    e.capacity = tithe_codec_bound(e.codec, n);
    e.frame = fuzz_alloc(e.capacity);

    insist_on_the_answer(&e, encode(&e, x), x);
    if (data[1] & 2 && type == TITHE_F32) feed_back(&e, x);

    free(e.frame);
    free(e.call.scratch);
    free(given);
    free(x);
    return 0;
}
