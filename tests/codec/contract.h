/* contract.h - every codec that the two tables make, and one rig to put it through.
 *
 * A selector or quantizer that is added to a table and not to the lists below fails the walk: no variant goes
 * without its questions. */
#ifndef TESTS_CODEC_CONTRACT_H
#define TESTS_CODEC_CONTRACT_H

#include "support.h"

/* ---- the codecs ----------------------------------------------------------------------------------------- */

typedef struct contract_arguments {
    const char *name;
    const char *arguments[6]; /* NULL ends them */
} contract_arguments;

static const contract_arguments selector_arguments[] = {
    {"all", {""}},
    {"topk", {"k=7", "keep=0.1", "rule=l2", "keep=0.25,per=layer", "k=3000"}},
    {"threshold", {"lambda=0.8", "lambda=0"}},
    {"mstopk", {"k=9", "keep=0.3,rounds=3"}},
    {"randk", {"k=5", "keep=0.75"}},
    {"stochastic", {"k=6.5", "keep=0.4"}},
    {"given", {""}},
};

static const contract_arguments quantizer_arguments[] = {
    {"raw", {""}},
    {"f16", {""}},
    {"bf16", {""}},
    {"natural", {"", "bits=8"}},
    {"sign", {"", "scale=norm"}},
    {"dither", {"", "s=1,p=inf", "s=100,bucket=7,norm=natural,code=elias", "p=1,s=16383,bucket=512"}},
    {"natdither", {"", "s=64,p=inf,norm=natural", "s=3,bucket=5,code=elias"}},
    {"int32", {"", "block=5", "block=0"}},
};

static inline const contract_arguments *arguments_of(const contract_arguments *list, size_t count,
                                                     const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    fail_msg("%s stands in a table of the library, but not in contract.h", name);
    return NULL;
}

/* The pairs that are refused on purpose; everything else has to be made. */
static inline bool is_illegal(const char *selector, const char *quantizer, bool contractive, tithe_type type)
{
    if (type == TITHE_F64 && strcmp(quantizer, "raw") != 0 && strcmp(quantizer, "natural") != 0) return true;
    if (strcmp(quantizer, "sign") != 0) return false;
    return strcmp(selector, "stochastic") == 0 || (strcmp(selector, "randk") == 0 && !contractive);
}

typedef void contract_question(const tithe_codec *codec, void *context);

static inline void ask_one(const tithe_selector *s, const char *first, const tithe_quantizer *q,
                           const char *second, tithe_codec_options options, contract_question *question,
                           void *context)
{
    char spec[160];
    snprintf(spec, sizeof spec, "%s%s%s|%s%s%s", s->name, *first ? ":" : "", first, q->name,
             *second ? ":" : "", second);
    if (options.type == TITHE_F64 && strstr(second, "bits=8")) return; /* test_spec.c asks for the refusal */
    tithe_codec *codec = NULL;
    tithe_error error = {0};
    const tithe_status status = tithe_codec_create(spec, &options, &codec, &error);
    if (is_illegal(s->name, q->name, options.contractive, options.type)) {
        expect(status == TITHE_E_SPEC && strlen(error.text) > 20, "%s should be refused with a reason", spec);
        return;
    }
    expect(status == TITHE_OK, "%s: %s", spec, error.text);
    const bool scaled = strstr(tithe_codec_spec(codec), "scale=contractive") != NULL;
    if (!options.contractive || scaled) question(codec, context); /* else it is the same codec again */
    tithe_codec_free(codec);
}

/* Ask every pair of the two tables, in all their arguments, types and scales. */
static inline void ask_every_codec(contract_question *question, void *context)
{
    for (const tithe_selector *const *s = tithe_selectors(); *s; s++) {
        const contract_arguments *first = arguments_of(
            selector_arguments, sizeof selector_arguments / sizeof *selector_arguments, (*s)->name);
        for (const tithe_quantizer *const *q = tithe_quantizers(); *q; q++) {
            const contract_arguments *second = arguments_of(
                quantizer_arguments, sizeof quantizer_arguments / sizeof *quantizer_arguments, (*q)->name);
            for (int i = 0; first->arguments[i]; i++)
                for (int j = 0; second->arguments[j]; j++)
                    for (int mode = 0; mode < 4; mode++)
                        ask_one(*s, first->arguments[i], *q, second->arguments[j],
                                (tithe_codec_options){mode & 1 ? TITHE_F64 : TITHE_F32, mode >> 1, false},
                                question, context);
        }
    }
}

static inline bool source_is(const tithe_codec *codec, tithe_index_source source)
{
    return tithe_codec_selector(codec)->source == source;
}

/* ---- the rig: buffers of exactly the promised size, with watched ends ------------------------------------ */

typedef struct rig {
    const tithe_codec *codec;
    tithe_type type;
    size_t n, bound;
    void *x, *x_before;
    guarded frame, y, scratch;
    uint32_t *given;
    size_t segments[4];
    tithe_call call;
    tithe_frame_info info;
    tithe_error error;
} rig;

static inline rig rig_make(const tithe_codec *codec, size_t n, size_t shift)
{
    rig r = {.codec = codec, .type = tithe_codec_type(codec), .n = n, .bound = tithe_codec_bound(codec, n)};
    const size_t bytes = n * type_bytes(r.type), scratch = tithe_codec_scratch(codec, n);
    r.x = calloc(n + 1, type_bytes(r.type));
    r.x_before = calloc(n + 1, type_bytes(r.type));
    r.given = calloc(n + 1, sizeof *r.given);
    assert_non_null(r.x);
    assert_non_null(r.x_before);
    assert_non_null(r.given);
    r.frame = guarded_make(r.bound, shift);
    r.y = guarded_make(bytes, 0);
    r.scratch = guarded_make(scratch, shift);
    r.call = (tithe_call){
        .seed = 5, .step = 77, .rank = 3, .tensor = 2, .scratch = r.scratch.data, .scratch_size = scratch};
    if (source_is(codec, TITHE_INDICES_GIVEN)) {
        for (size_t i = 0; i < n; i++)
            if (i % 3 == 1 || i % 7 == 0) r.given[r.call.given_count++] = (uint32_t)i;
        r.call.given = r.given;
    }
    r.segments[0] = n / 3;
    r.segments[2] = n - n / 3 - n / 7;
    r.segments[3] = n / 7;
    r.call.segment_count = 4;
    return r;
}

static inline void rig_free(rig *r)
{
    free(r->x);
    free(r->x_before);
    free(r->given);
    guarded_free(&r->frame);
    guarded_free(&r->y);
    guarded_free(&r->scratch);
}

static inline void rig_fill(rig *r, input_kind k)
{
    fill_kind(r->type, k, r->x, r->n, 1);
    memcpy(r->x_before, r->x, r->n * type_bytes(r->type));
}

static inline tithe_status rig_encode_into(rig *r, void *frame, size_t capacity)
{
    r->call.segments = r->segments;
    return r->type == TITHE_F32
               ? tithe_encode(r->codec, &r->call, r->x, r->n, frame, capacity, &r->info, &r->error)
               : tithe_encode_f64(r->codec, &r->call, r->x, r->n, frame, capacity, &r->info, &r->error);
}

static inline tithe_status rig_encode(rig *r)
{
    return rig_encode_into(r, r->frame.data, r->bound);
}

static inline tithe_status decode_any(const tithe_codec *codec, const tithe_call *call, const void *frame,
                                      size_t length, double scale, void *y, size_t n, tithe_error *error)
{
    return tithe_codec_type(codec) == TITHE_F32
               ? tithe_decode_add(codec, call, frame, length, (float)scale, y, n, error)
               : tithe_decode_add_f64(codec, call, frame, length, scale, y, n, error);
}

static inline tithe_status rig_decode(rig *r, double scale)
{
    return decode_any(r->codec, &r->call, r->frame.data, r->info.bytes, scale, r->y.data, r->n, &r->error);
}

static inline void rig_clear_y(rig *r)
{
    memset(r->y.data, 0, r->y.size);
}

static inline bool all_finite(tithe_type type, const void *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(get_number(type, x, i))) return false;
    return true;
}

#define RIG_SAYS(r) tithe_codec_spec((r)->codec), (r)->n, (r)->error.text

#endif
