/* fuzz_decode.c - forged payloads behind a sound header and checksum, for every decoder and in both forms.
 *
 * input: codec | form | n, 2 bytes | entries, 2 bytes | coding of the indices | s | payload */
#include "fuzz.h"

enum { PREFIX = 8, MAX_NUMBERS = 5000, MAX_HEADER = 64 };

static uint8_t *put_number(uint8_t *p, uint32_t v)
{
    for (; v >= 128; v >>= 7) *p++ = (uint8_t)(v | 128);
    *p++ = (uint8_t)v;
    return p;
}

/* The header of docs/format.md for so many entries. What depends on the codec alone is taken from a frame of nothing. */
static size_t forge_header(const tithe_codec *codec, const tithe_call *call, size_t n, size_t count,
                           uint8_t coding, uint8_t *header)
{
    uint8_t empty[MAX_HEADER], *p = header;
    tithe_frame_info info;
    tithe_error error = {0};
    const tithe_index_source source = tithe_codec_selector(codec)->source;
    const tithe_status status =
        tithe_codec_type(codec) == TITHE_F64
            ? tithe_encode_f64(codec, call, NULL, 0, empty, sizeof empty, &info, &error)
            : tithe_encode(codec, call, NULL, 0, empty, sizeof empty, &info, &error);
    insist(status == TITHE_OK, "%s: %s", tithe_codec_spec(codec), error.text);
    /* mark, two bytes of step; or mark, codec, flags, n (one byte), step (one byte), and the check of drawn positions */
    const bool alone = call->form == TITHE_SELF_CONTAINED;
    const size_t check = alone && source == TITHE_INDICES_DRAWN ? 4 : 0;
    const size_t before = (alone ? 5 : 3) + check, numbers = before + (source != TITHE_INDICES_ALL);
    memcpy(p, empty, 3);
    p += 3;
    if (alone) p = put_number(put_number(p, (uint32_t)n), call->step);
    memcpy(p, empty + before - check, check);
    p += check;
    if (source != TITHE_INDICES_ALL) p = put_number(p, (uint32_t)count);
    if (source == TITHE_INDICES_SENT && count > 0 && count < n) *p++ = coding;
    memcpy(p, empty + numbers, info.header_bytes - numbers);
    return (size_t)(p - header) + info.header_bytes - numbers;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < PREFIX) return 0;
    const tithe_codec *codec = fuzz_open_codec(data[0]);
    const bool all = tithe_codec_selector(codec)->source == TITHE_INDICES_ALL;
    const size_t n = (data[2] | (size_t)data[3] << 8) % (MAX_NUMBERS + 1);
    const size_t count = all ? n : (data[4] | (size_t)data[5] << 8) % (n + 1);

    uint32_t *given = fuzz_alloc(n * sizeof *given);
    for (size_t i = 0; i < count; i++) given[i] = (uint32_t)(n - count + i);
    tithe_call call = {.seed = 3, .step = 9, .rank = 1, .segments = (const size_t[1]){0}, .segment_count = 1};
    call.form = data[1] & 1 ? TITHE_EXCHANGE : TITHE_SELF_CONTAINED;
    if (all && data[7] > 0 && data[7] <= 64) call.level = data[7];
    call.scratch_size = tithe_codec_scratch(codec, n);
    call.scratch = fuzz_alloc(call.scratch_size);

    uint8_t header[MAX_HEADER];
    const size_t head = forge_header(codec, &call, n, count, data[6], header);
    const size_t length = head + (size - PREFIX) + 4;
    uint8_t *frame = fuzz_alloc(length);
    memcpy(frame, header, head);
    memcpy(frame + head, data + PREFIX, size - PREFIX);
    fuzz_repair(frame, length);

    call.given = given;
    call.given_count = count;
    const tithe_status status = fuzz_decode(codec, &call, frame, length, n);
    insist(status == TITHE_OK || status == TITHE_E_CORRUPT, "%s: status %d", tithe_codec_spec(codec), status);
    free(frame);
    free(call.scratch);
    free(given);
    return 0;
}
