/* cmd_inspect.c - tithe inspect: what is in a frame, section by section, in a trace, or in a checkpoint. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "files.h"
#include "inspect_checkpoint.h"
#include "inspect_trace.h"
#include "json.h"
#include "options.h"
#include "text.h"
#include "tithe/learn.h"
#include "vectors.h"
#include "verbs.h"

enum { CHECKSUM_BYTES = 4 };

/* What inspect found out. The body is known only when it could be read to its end. */
typedef struct findings {
    tithe_frame_header h;
    tithe_frame_info info;
    const char *spec;
    bool body;
    size_t bytes;
    double index_entropy_bits;
} findings;

static const char *coding_name(tithe_index_coding coding)
{
    switch (coding) {
    case TITHE_INDEX_NONE: return "none";
    case TITHE_INDEX_FIXED: return "fixed";
    case TITHE_INDEX_BITMAP: return "bitmap";
    case TITHE_INDEX_GOLOMB: return "golomb";
    }
    return "unknown";
}

/* log2 of the ways to choose k of n: no code for equally likely index sets needs less on average. */
static double log2_choose(double n, double k)
{
    if (k <= 0 || k >= n) return 0;
    return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2.0);
}

/* Which bits are indices and which are values does not depend on where the values go. So a frame of given
 * positions can be explained without them: the first positions stand in. */
static uint32_t *stand_in(const tithe_frame_header *h)
{
    if (h->entries > h->n || h->entries / 8 > h->payload_bytes) return NULL;
    uint32_t *indices = malloc((h->entries + 1) * sizeof *indices);
    for (size_t i = 0; indices && i < h->entries; i++) indices[i] = (uint32_t)i;
    return indices;
}

/* Read the body for its bits. A body that cannot be read for want of memory leaves only the header to show. */
static tithe_status read_body(const tithe_codec *codec, const uint8_t *frame, findings *f, tithe_error *error)
{
    const bool given = tithe_codec_selector(codec)->source == TITHE_INDICES_GIVEN;
    tithe_call call = {.step = f->h.step, .any_seed = true};
    tithe_status status = TITHE_OK;
    uint32_t *indices = given ? stand_in(&f->h) : NULL;
    call.given = indices;
    call.given_count = indices ? f->h.entries : 0;
    call.scratch_size = tithe_frame_scratch(&f->h);
    call.scratch = malloc(call.scratch_size + 1);

    if (call.scratch && (indices || !given)) {
        status = tithe_frame_check(codec, &call, frame, f->bytes, f->h.n, &f->info, error);
        f->body = !status;
    }
    free(call.scratch);
    free(indices);
    return status;
}

/* ---- output ------------------------------------------------------------------------------------------- */

static void row(size_t offset, size_t bytes, const char *what)
{
    printf("  %12s  %12s  ", text_group(offset).text, text_group(bytes).text);
    text_wrap(stdout, 30, 30, what);
}

static void print_findings(const char *name, const findings *f)
{
    const tithe_frame_header *h = &f->h;
    const double entries = (double)h->entries;
    char what[320], m[40] = "";

    printf("%s: a frame of %s, %s bytes\n\n  %12s  %12s  %s\n", name, f->spec, text_group(f->bytes).text,
           "offset", "bytes", "what");
    snprintf(what, sizeof what, "header: wire version %d, %s, n = %s, step %lu, %s%s, %s entries", h->version,
             h->form == TITHE_SELF_CONTAINED ? "self-contained" : "exchange", text_group(h->n).text,
             (unsigned long)h->step, vector_type_name(h->type), h->contractive ? ", contractive" : "",
             text_group(h->entries).text);
    row(0, h->header_bytes, what);

    size_t at = h->header_bytes;
    if (f->body) {
        const size_t index_bytes = (size_t)((f->info.index_bits + 7) / 8);
        const size_t value_bytes = (size_t)((f->info.value_bits + 7) / 8);
        if (h->coding == TITHE_INDEX_GOLOMB)
            snprintf(m, sizeof m, " with m = %lu", (unsigned long)h->golomb_m);
        if (f->info.index_bits > 0)
            snprintf(what, sizeof what,
                     "positions: %s coding%s, %.2f bits each; a random set of as many takes %.2f on average",
                     coding_name(h->coding), m, (double)f->info.index_bits / entries,
                     f->index_entropy_bits / entries);
        else
            snprintf(what, sizeof what, "positions: none to send, %s",
                     h->entries == h->n ? "every coordinate goes" : "both ends know them");
        row(at, index_bytes, what);
        at += index_bytes;
        if (h->entries > 0)
            snprintf(what, sizeof what, "values: %.2f bits each", (double)f->info.value_bits / entries);
        else
            snprintf(what, sizeof what, "values: none");
        row(at, value_bytes, what);
        at += value_bytes;
    } else {
        row(at, h->payload_bytes, "positions and values, which could not be read without more memory");
        at += h->payload_bytes;
    }
    row(at, CHECKSUM_BYTES, "checksum: CRC-32C, sound");

    const size_t dense = h->n * vector_type_size(h->type);
    printf("\n  %s\n", text_smaller(f->bytes, dense).text);
}

static cJSON *findings_json(const findings *f)
{
    const tithe_frame_header *h = &f->h;
    const double index_bits = f->body ? (double)f->info.index_bits : NAN;
    const double value_bits = f->body ? (double)f->info.value_bits : NAN;
    cJSON *json = json_object();
    json_text(json, "kind", "frame");
    json_count(json, "version", h->version);
    json_text(json, "form", h->form == TITHE_SELF_CONTAINED ? "self-contained" : "exchange");
    json_text(json, "spec", f->spec);
    json_count(json, "n", h->n);
    json_count(json, "step", h->step);
    json_count(json, "entries", h->entries);
    json_text(json, "type", vector_type_name(h->type));
    json_text(json, "scale", h->contractive ? "contractive" : "unbiased");
    json_text(json, "index_coding", coding_name(h->coding));
    json_number(json, "golomb_m", h->coding == TITHE_INDEX_GOLOMB ? (double)h->golomb_m : NAN);
    json_count(json, "header_bytes", h->header_bytes);
    json_number(json, "index_bits", index_bits);
    json_number(json, "value_bits", value_bits);
    json_count(json, "checksum_bytes", CHECKSUM_BYTES);
    json_count(json, "bytes", f->bytes);
    json_number(json, "bits_per_entry", h->entries ? (index_bits + value_bits) / (double)h->entries : NAN);
    json_count(json, "dense_bytes", (uint64_t)h->n * vector_type_size(h->type));
    json_number(json, "index_entropy_bits", f->index_entropy_bits);
    return json;
}

static int inspect(const char *name, const uint8_t *frame, size_t length, const char *json)
{
    findings f = {.bytes = length};
    tithe_codec *codec = NULL;
    tithe_error error = {0};
    tithe_status status = tithe_frame_read(frame, length, &f.h, &error);
    if (!status) status = tithe_frame_codec(&f.h, &codec, &error);
    if (!status) status = read_body(codec, frame, &f, &error);

    int result = EXIT_DONE;
    if (status) {
        result = text_fail_status(name, status, &error);
    } else {
        f.spec = tithe_codec_spec(codec);
        f.index_entropy_bits = log2_choose((double)f.h.n, (double)f.h.entries);
        if (json && !json_write(json, findings_json(&f))) result = EXIT_BAD;
        if (!result && !json_alone(json)) print_findings(name, &f);
    }
    tithe_codec_free(codec);
    return result;
}

int cmd_inspect(int argc, char **argv)
{
    const char *json = NULL;
    const option options[] = {option_json(&json), option_end()};
    const command c = {
        .positionals = "FILE",
        .min = 1,
        .max = 1,
        .summary =
            "Explain the frame, the trace or the checkpoint in FILE (- is standard input): of a frame what "
            "wrote it, what "
            "each of its "
            "sections holds, and how near the positions come to the fewest bits that they could take. "
            "A frame that is damaged is refused with what is wrong about it. Neither seed nor "
            "indices are needed. In the JSON, bits_per_entry counts positions and values without "
            "header and checksum, and index_entropy_bits is log2 of the number of ways to choose the "
            "entries. Of a trace, which tithe train --trace writes, it shows the facts and where each column "
            "begins and ends. Of a checkpoint, which tithe train --checkpoint writes, it shows which run it "
            "belongs to and "
            "what is kept for it.",
        .options = options,
        .examples = "  tithe inspect gradient.frame\n"
                    "  tithe inspect gradient.frame --json -\n"
                    "  tithe inspect run.csv\n"
                    "  tithe encode topk:keep=0.01 gradient.f32 - | tithe inspect -",
    };
    int count, status;
    if (!options_parse(&c, argc, argv, &count, &status)) return status;

    uint8_t *frame;
    size_t length;
    if (!file_read(argv[0], &frame, &length)) return EXIT_BAD;
    const char *name = file_input_name(argv[0]);
    if (tithe_checkpoint_is(frame, length))
        status = inspect_checkpoint(name, frame, length, json);
    else if (inspect_is_trace(frame, length))
        status = inspect_trace(name, frame, length, json);
    else
        status = inspect(name, frame, length, json);
    free(frame);
    return status;
}
