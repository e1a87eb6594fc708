/* cmd_encode.c - tithe encode: a file of floats to a frame. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "json.h"
#include "options.h"
#include "text.h"
#include "vectors.h"
#include "verbs.h"

typedef struct encode_options {
    int type; /* -1: as the spec says, f32 when it says nothing */
    uint64_t seed, step, rank, tensor;
    const char *indices, *segments, *json;
    bool quiet; /* standard output is taken */
} encode_options;

/* What one run holds; whatever it got to, encode_end gives it back. */
typedef struct encode_state {
    tithe_codec *codec;
    void *x, *scratch;
    uint32_t *indices;
    size_t *segments;
    uint8_t *frame;
} encode_state;

static void encode_end(encode_state *s)
{
    tithe_codec_free(s->codec);
    free(s->x);
    free(s->scratch);
    free(s->indices);
    free(s->segments);
    free(s->frame);
}

/* The layers must cover the vector, else the wrong ones are compressed together. */
static bool read_segments(const char *text, size_t n, encode_state *s, tithe_call *call)
{
    if (!options_sizes("segments", text, &s->segments, &call->segment_count)) return false;
    uint64_t sum = 0;
    for (size_t i = 0; i < call->segment_count; i++) sum += s->segments[i];
    call->segments = s->segments;
    if (sum == n) return true;
    text_fail("--segments add up to %s, but the vector has %s coordinates", text_group(sum).text,
              text_group(n).text);
    return false;
}

static bool read_indices(const char *path, size_t n, encode_state *s, tithe_call *call)
{
    const tithe_selector *selector = tithe_codec_selector(s->codec);
    const bool wanted = selector->source == TITHE_INDICES_GIVEN;
    if (wanted && !path) {
        text_fail("The selector '%s' sends the positions that it is given: add --indices FILE",
                  selector->name);
        return false;
    }
    if (!wanted && path) {
        text_fail(
            "The selector '%s' finds its own positions: leave --indices out, or use the selector 'given'",
            selector->name);
        return false;
    }
    if (!path) return true;
    if (!indices_read(path, n, &s->indices, &call->given_count)) return false;
    call->given = s->indices;
    return true;
}

static void print_summary(const char *spec, const tithe_frame_info *info, size_t n, size_t dense)
{
    const double entries = (double)info->entries;
    printf("%s: %s bytes, %s\n", spec, text_group(info->bytes).text, text_smaller(info->bytes, dense).text);
    printf("%s of %s entries", text_group(info->entries).text, text_group(n).text);
    if (info->entries > 0) printf(", %.2f bits per value", (double)info->value_bits / entries);
    if (info->index_bits > 0)
        printf(", %.2f bits per index", (double)info->index_bits / entries);
    else
        printf(", no indices to send");
    printf(", %zu bytes of header and checksum\n", info->header_bytes + 4);
}

static cJSON *summary_json(const char *spec, const tithe_frame_info *info, size_t n, size_t dense)
{
    cJSON *json = json_object();
    json_count(json, "bytes", info->bytes);
    json_count(json, "entries", info->entries);
    json_count(json, "index_bits", info->index_bits);
    json_count(json, "value_bits", info->value_bits);
    json_count(json, "header_bytes", info->header_bytes);
    json_count(json, "n", n);
    json_text(json, "spec", spec);
    json_count(json, "dense_bytes", dense);
    return json;
}

static int encode(const char *spec, const char *in, const char *out, const encode_options *o, encode_state *s)
{
    tithe_error error = {0};
    tithe_status status;
    const tithe_codec_options options = {.type = o->type == 1 ? TITHE_F64 : TITHE_F32};
    status = tithe_codec_create(spec, &options, &s->codec, &error);
    if (status) return text_fail_status(NULL, status, &error);

    const tithe_type type = tithe_codec_type(s->codec);
    if (o->type >= 0 && (tithe_type)o->type != type)
        return text_fail("The spec says type=%s, but --type says %s: leave one of them out",
                         vector_type_name(type), vector_type_name((tithe_type)o->type));

    size_t n;
    tithe_call call = {
        .seed = o->seed, .step = (uint32_t)o->step, .rank = (uint32_t)o->rank, .tensor = (uint32_t)o->tensor};
    if (!vector_read(in, type, &s->x, &n)) return EXIT_BAD;
    if (!read_indices(o->indices, n, s, &call)) return EXIT_BAD;
    if (o->segments && !strstr(tithe_codec_spec(s->codec), "per=layer")) {
        text_fail("--segments go with per=layer, as in topk:keep=0.01,per=layer");
        return EXIT_BAD;
    }
    if (o->segments && !read_segments(o->segments, n, s, &call)) return EXIT_BAD;

    const size_t capacity = tithe_codec_bound(s->codec, n);
    call.scratch_size = tithe_codec_scratch(s->codec, n);
    call.scratch = s->scratch = malloc(call.scratch_size + 1);
    s->frame = malloc(capacity + 1);
    if (!s->scratch || !s->frame)
        return text_fail("There is no memory left to encode %s coordinates", text_group(n).text);

    tithe_frame_info info;
    status = type == TITHE_F64 ? tithe_encode_f64(s->codec, &call, s->x, n, s->frame, capacity, &info, &error)
                               : tithe_encode(s->codec, &call, s->x, n, s->frame, capacity, &info, &error);
    if (status) return text_fail_status(file_input_name(in), status, &error);
    if (!file_write(out, s->frame, info.bytes)) return EXIT_BAD;

    const size_t dense = n * vector_type_size(type);
    const char *canonical = tithe_codec_spec(s->codec);
    if (o->json && !json_write(o->json, summary_json(canonical, &info, n, dense))) return EXIT_BAD;
    if (!o->quiet) print_summary(canonical, &info, n, dense);
    return EXIT_DONE;
}

int cmd_encode(int argc, char **argv)
{
    encode_options o = {.type = -1};
    const option options[] = {
        option_choice("type", "f32|f64", "type of the numbers in IN (default: as the spec says, else f32)",
                      &o.type),
        option_u64("seed", "S", "seed of the run, for codecs that draw at random (default 0)", &o.seed),
        option_u32("step", "K", "number of the step, written into the frame (default 0)", &o.step),
        option_u32("rank", "R", "rank of the worker (default 0)", &o.rank),
        option_u32("tensor", "T", "number of the tensor within the step (default 0)", &o.tensor),
        option_text("indices", "FILE",
                    "positions for the selector 'given', counted from 0: little-endian 32-bit numbers, or "
                    "text with blanks or commas between decimal numbers",
                    &o.indices),
        option_text("segments", "N,N,...",
                    "lengths of the layers, for selectors that act per layer; they add up to n", &o.segments),
        option_json(&o.json),
        option_end(),
    };
    const command c = {
        .positionals = "SPEC IN OUT",
        .min = 3,
        .max = 3,
        .summary = "Encode the raw little-endian floats in IN with the codec SPEC and write one self-"
                   "contained frame to OUT. A codec is selector|quantizer; 'tithe list' shows both. - stands "
                   "for standard input and output. The decoder needs the same seed, rank and tensor where "
                   "the codec draws at random, and the same indices for 'given'.",
        .options = options,
        .examples =
            "  tithe encode 'topk:keep=0.01|natural' gradient.f32 gradient.frame\n"
            "  tithe encode 'randk:k=500|raw' gradient.f32 gradient.frame --seed 7 --step 12 --rank 3\n"
            "  tithe encode 'given|sign' gradient.f32 gradient.frame --indices leader.txt\n"
            "  tithe encode natural --type f64 - - <gradient.f64 | tithe decode - back.f64",
    };
    int count, status;
    if (!options_parse(&c, argc, argv, &count, &status)) return status;
    if (!file_outputs(
            (const file_output[]){{"OUT", argv[2], false}, {"--json", o.json, false}, {NULL, NULL, false}},
            &o.quiet))
        return EXIT_BAD;

    encode_state s = {0};
    status = encode(argv[0], argv[1], argv[2], &o, &s);
    encode_end(&s);
    return status;
}
