/* coder.c - a codec, a call and its scratch in one handle, opened from text. */
#include "tithe/coder.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/options.h"
#include "base/status.h"
#include "codec/codec.h"
#include "tithe/pool.h"

typedef struct coder_options {
    const char *codec;
    uint64_t seed;
    uint32_t rank;
    bool f64, contractive;
    uint32_t threads;
} coder_options;

#define OPTIONS coder_options
static const tithe_option table[] = {
    {"codec", "SPEC", "how vectors are compressed, such as 'topk:keep=0.01|natural'", "all|raw",
     TITHE_OPTION_TEXT, 0, OPTION_PLACE(codec)},
    {"type", "f32|f64", "of the vectors; f64 goes with raw and natural", "f32", TITHE_OPTION_CHOICE, 0,
     OPTION_PLACE(f64), .choices = "f32|f64"},
    {"contractive", NULL, "scale=contractive where the spec says nothing", NULL, TITHE_OPTION_FLAG, 0,
     OPTION_PLACE(contractive)},
    {"seed", "S", "of all that is random", "1", TITHE_OPTION_WHOLE, 0, OPTION_PLACE(seed), .max = UINT64_MAX},
    {"rank", "R", "whose frames they are: each rank has random numbers of its own", "0", TITHE_OPTION_WHOLE,
     0, OPTION_PLACE(rank), .max = UINT32_MAX},
    {"threads", "N", "that share the work", "1", TITHE_OPTION_WHOLE, 0, OPTION_PLACE(threads), .min = 1,
     .max = 256},
    {.name = NULL},
};

struct tithe_coder {
    tithe_codec *codec;
    coder_options options; /* its texts are gone */
    tithe_pool *pool;
    void *scratch;
    size_t scratch_size;
};

const tithe_option *tithe_coder_option_table(void)
{
    return table;
}

static tithe_status fail_memory(tithe_error *error)
{
    return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a coder.");
}

void tithe_coder_free(tithe_coder *coder)
{
    if (!coder) return;
    tithe_codec_free(coder->codec);
    tithe_pool_free(coder->pool);
    free(coder->scratch);
    free(coder);
}

/* ---- opening --------------------------------------------------------------------------------------------- */

/* `codec` NULL: the one that the options name. The text is cut into pieces. */
static tithe_status fill(tithe_coder *c, char *text, tithe_codec *codec, tithe_error *error)
{
    c->codec = codec;
    tithe_status status = tithe_options_read(table, text, &c->options, error);
    const coder_options *o = &c->options;
    const tithe_codec_options how = {.type = o->f64 ? TITHE_F64 : TITHE_F32, .contractive = o->contractive};
    if (!status && !codec) status = tithe_codec_create(o->codec, &how, &c->codec, error);
    if (!status && o->threads > 1) status = tithe_pool_create(o->threads, &c->pool, error);
    c->options.codec = NULL;
    return status;
}

static tithe_status make(const char *options, tithe_codec *codec, tithe_coder **coder, tithe_error *error)
{
    if (!options) options = "";
    tithe_coder *made = calloc(1, sizeof *made);
    char *text = malloc(strlen(options) + 1);
    if (text) memcpy(text, options, strlen(options) + 1);
    if (!made) tithe_codec_free(codec);
    const tithe_status status = made && text ? fill(made, text, codec, error) : fail_memory(error);
    free(text);
    if (status)
        tithe_coder_free(made);
    else
        *coder = made;
    return status;
}

tithe_status tithe_coder_open(const char *options, tithe_coder **coder, tithe_error *error)
{
    if (!coder) return ti_fail(error, TITHE_E_ARGUMENT, 0, "A place for the coder is needed.");
    return make(options, NULL, coder, error);
}

tithe_status tithe_coder_of_frame(const uint8_t *frame, size_t length, const char *options,
                                  tithe_coder **coder, size_t *n, tithe_error *error)
{
    if (!frame || !coder || !n)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A frame and places for the coder and for n are needed.");
    tithe_frame_header header;
    tithe_codec *codec = NULL;
    tithe_status status = tithe_frame_read(frame, length, &header, error);
    if (!status) status = tithe_frame_codec(&header, &codec, error);
    if (!status) status = make(options, codec, coder, error);
    if (!status) *n = header.n;
    return status;
}

/* ---- what it says of itself ------------------------------------------------------------------------------- */

const tithe_codec *tithe_coder_codec(const tithe_coder *coder)
{
    return coder->codec;
}

char *tithe_coder_claims(const tithe_coder *coder, size_t n)
{
    static const struct {
        unsigned bit;
        const char *name;
    } traits[] = {{TITHE_UNBIASED, "unbiased"},
                  {TITHE_CONTRACTIVE, "contractive"},
                  {TITHE_ABSOLUTE, "absolute"},
                  {TITHE_SUMMABLE, "summable"},
                  {TITHE_FIXED_SIZE, "fixed_size"}};
    const tithe_claims claims = ti_codec_claims(coder->codec, n);
    json j = {0};
    ti_json_open(&j, NULL, '{');
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++)
        ti_json_bool(&j, traits[i].name, claims.traits & traits[i].bit);
    ti_json_number(&j, "omega", claims.omega);
    ti_json_number(&j, "delta", claims.delta);
    ti_json_number(&j, "Delta", claims.Delta);
    ti_json_number(&j, "smallest", claims.smallest);
    ti_json_number(&j, "largest", claims.largest);
    ti_json_close(&j, '}');
    return ti_json_done(&j);
}

/* ---- calls ------------------------------------------------------------------------------------------------ */

static tithe_status make_call(tithe_coder *c, uint32_t step, size_t scratch, tithe_call *call,
                              tithe_error *error)
{
    if (scratch > c->scratch_size) {
        free(c->scratch);
        c->scratch = malloc(scratch);
        c->scratch_size = c->scratch ? scratch : 0;
        if (!c->scratch) return fail_memory(error);
    }
    *call = (tithe_call){.seed = c->options.seed,
                         .step = step,
                         .rank = c->options.rank,
                         .scratch = c->scratch,
                         .scratch_size = c->scratch_size,
                         .pool = c->pool};
    return TITHE_OK;
}

tithe_status tithe_coder_encode(tithe_coder *coder, uint32_t step, const void *x, size_t n, uint8_t *frame,
                                size_t capacity, size_t *length, tithe_error *error)
{
    const tithe_codec *codec = coder->codec;
    tithe_call call;
    tithe_frame_info info = {0};
    tithe_status status = make_call(coder, step, tithe_codec_scratch(codec, n), &call, error);
    if (!status && codec->type == TITHE_F32)
        status = tithe_encode(codec, &call, x, n, frame, capacity, &info, error);
    else if (!status)
        status = tithe_encode_f64(codec, &call, x, n, frame, capacity, &info, error);
    if (!status) *length = info.bytes;
    return status;
}

tithe_status tithe_coder_decode_add(tithe_coder *coder, const uint8_t *frame, size_t length, double scale,
                                    void *y, size_t n, tithe_error *error)
{
    tithe_frame_header header;
    tithe_call call;
    tithe_status status = tithe_frame_read(frame, length, &header, error);
    if (!status) status = make_call(coder, 0, tithe_frame_scratch(&header), &call, error);
    if (status) return status;
    if (coder->codec->type == TITHE_F32)
        return tithe_decode_add(coder->codec, &call, frame, length, (float)scale, y, n, error);
    return tithe_decode_add_f64(coder->codec, &call, frame, length, scale, y, n, error);
}
