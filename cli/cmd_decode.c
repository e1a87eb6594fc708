/* cmd_decode.c - tithe decode: a frame back to a file of floats.
 *
 * The frame may come from a stranger: its n is only a promise, so memory is asked for and may be refused, and
 * OUT is written after the whole frame was found sound. */
#include <stdio.h>
#include <stdlib.h>

#include "files.h"
#include "json.h"
#include "options.h"
#include "text.h"
#include "vectors.h"
#include "verbs.h"

typedef struct decode_options {
    uint64_t seed, rank, tensor;
    uint64_t step; /* UINT64_MAX: whatever the frame says */
    const char *indices, *json;
    bool quiet;              /* standard output is taken */
    tithe_train_options run; /* of which decode has one */
} decode_options;

typedef struct decode_state {
    uint8_t *frame;
    tithe_codec *codec;
    uint32_t *indices;
    void *scratch, *y;
} decode_state;

static void decode_end(decode_state *s)
{
    free(s->frame);
    tithe_codec_free(s->codec);
    free(s->indices);
    free(s->scratch);
    free(s->y);
}

static cJSON *summary_json(const char *spec, const tithe_frame_header *h, const tithe_frame_info *info)
{
    cJSON *json = json_object();
    json_count(json, "n", h->n);
    json_count(json, "bytes", info->bytes);
    json_count(json, "entries", info->entries);
    json_count(json, "index_bits", info->index_bits);
    json_count(json, "value_bits", info->value_bits);
    json_text(json, "spec", spec);
    json_count(json, "step", h->step);
    json_text(json, "type", vector_type_name(h->type));
    return json;
}

static int decode(const char *in, const char *out, const decode_options *o, decode_state *s)
{
    const char *name = file_input_name(in);
    tithe_error error = {0};
    tithe_frame_header h;
    size_t length;
    if (!file_read(in, &s->frame, &length)) return EXIT_BAD;
    tithe_status status = tithe_frame_read(s->frame, length, &h, &error);
    if (!status) status = tithe_frame_codec(&h, &s->codec, &error);
    if (status) return text_fail_status(name, status, &error);
    if (o->step != UINT64_MAX && o->step != h.step)
        return text_fail("'%s' is a frame of step %lu, not of step %lu", name, (unsigned long)h.step,
                         (unsigned long)o->step);

    tithe_call call = {
        .seed = o->seed, .step = h.step, .rank = (uint32_t)o->rank, .tensor = (uint32_t)o->tensor};
    const tithe_selector *selector = tithe_codec_selector(s->codec);
    if (selector->source == TITHE_INDICES_GIVEN) {
        if (!o->indices)
            return text_fail(
                "'%s' holds the values of %s given positions but not the positions: add --indices FILE", name,
                text_group(h.entries).text);
        if (!indices_read(o->indices, h.n, &s->indices, &call.given_count)) return EXIT_BAD;
        call.given = s->indices;
    } else if (o->indices) {
        return text_fail(
            "'%s' was written by '%s', which needs no positions from outside: leave --indices out", name,
            selector->name);
    }

    call.scratch_size = tithe_frame_scratch(&h);
    const double bytes = (double)call.scratch_size + (double)h.n * (double)vector_type_size(h.type);
    const double max = (double)tithe_data_max_memory(&o->run.reading);
    if (bytes > max)
        return text_fail(
            "'%s' stands for %s coordinates, which take %.6g MB of memory and not the %.6g MB that they "
            "may: if you trust it, add --max-memory %.0fMB",
            name, text_group(h.n).text, bytes / 1e6, max / 1e6, bytes / 1e6 + 1);
    call.scratch = s->scratch = malloc(call.scratch_size + 1);
    s->y = calloc(h.n ? h.n : 1, vector_type_size(h.type));
    if (!s->scratch || !s->y)
        return text_fail("'%s' stands for %s coordinates, and there is no memory for so many", name,
                         text_group(h.n).text);

    tithe_frame_info info;
    status = tithe_frame_check(s->codec, &call, s->frame, length, h.n, &info, &error);
    if (!status)
        status = h.type == TITHE_F64
                     ? tithe_decode_add_f64(s->codec, &call, s->frame, length, 1.0, s->y, h.n, &error)
                     : tithe_decode_add(s->codec, &call, s->frame, length, 1.0f, s->y, h.n, &error);
    if (status) return text_fail_status(name, status, &error);
    if (!vector_write(out, h.type, s->y, h.n)) return EXIT_BAD;

    const char *spec = tithe_codec_spec(s->codec);
    if (o->json && !json_write(o->json, summary_json(spec, &h, &info))) return EXIT_BAD;
    if (!o->quiet)
        printf("%s: %s of %s coordinates, step %lu, written as %s in %s bytes\n", spec,
               text_group(info.entries).text, text_group(h.n).text, (unsigned long)h.step,
               vector_type_name(h.type), text_group((uint64_t)h.n * vector_type_size(h.type)).text);
    return EXIT_DONE;
}

int cmd_decode(int argc, char **argv)
{
    decode_options o = {.step = UINT64_MAX, .run.size = sizeof o.run};
    tithe_train_defaults(&o.run);
    const option options[] = {
        option_u64("seed", "S", "seed that the encoder had (default 0)", &o.seed),
        option_u32("step", "K", "refuse a frame of any other step (default: take the step from the frame)",
                   &o.step),
        option_u32("rank", "R", "rank that the encoder had (default 0)", &o.rank),
        option_u32("tensor", "T", "tensor that the encoder had (default 0)", &o.tensor),
        option_text("indices", "FILE",
                    "the positions that the encoder was given: little-endian 32-bit numbers, or text with "
                    "blanks or commas between decimal numbers",
                    &o.indices),
        option_run_named("max-memory", &o.run),
        option_json(&o.json),
        option_end(),
    };
    const command c = {
        .positionals = "IN OUT",
        .min = 2,
        .max = 2,
        .summary = "Decode the self-contained frame in IN and write its vector to OUT as raw little-endian "
                   "floats: f32, or f64 when the frame says so. Coordinates that were not sent are 0. A "
                   "frame that is damaged in any bit is refused, and OUT is left alone. - stands for "
                   "standard input and output.",
        .options = options,
        .examples = "  tithe decode gradient.frame back.f32\n"
                    "  tithe decode gradient.frame back.f32 --seed 7 --rank 3\n"
                    "  tithe decode gradient.frame - --indices leader.txt | od -f | head",
    };
    int count, status;
    if (!options_parse(&c, argc, argv, &count, &status)) return status;
    if (!file_outputs(
            (const file_output[]){{"OUT", argv[1], false}, {"--json", o.json, false}, {NULL, NULL, false}},
            &o.quiet))
        return EXIT_BAD;

    decode_state s = {0};
    status = decode(argv[0], argv[1], &o, &s);
    decode_end(&s);
    return status;
}
