/* fuzz_frame.c - any bytes as a self-contained frame from a stranger: read, make the codec, check, decode.
 *
 * The bytes are taken as they are, and once more with the checksum that fits them, since no fuzzer finds that. */
#include "fuzz.h"

enum { MAX_NUMBERS = 1 << 20 }; /* y would be too large for a fuzzer, not for the format */

static void take_frame(const uint8_t *frame, size_t length)
{
    tithe_frame_header h;
    tithe_error error = {0};
    const tithe_status status = tithe_frame_read(frame, length, &h, &error);
    if (status) {
        insist(status == TITHE_E_CORRUPT && error.text[0], "a stranger's bytes are corrupt or fine, not %d",
               status);
        return;
    }
    insist(h.entries <= h.n && h.header_bytes + h.payload_bytes + 4 == length, "the header does not add up");
    tithe_codec *codec = NULL;
    const tithe_status made = tithe_frame_codec(&h, &codec, &error);
    if (made) {
        insist(made == TITHE_E_CORRUPT && !codec, "a header names a codec or is corrupt");
        return;
    }
    if (h.n <= MAX_NUMBERS) {
        uint32_t *given = fuzz_alloc(h.entries * sizeof *given);
        for (size_t i = 0; i < h.entries; i++) given[i] = (uint32_t)(h.n - h.entries + i);
        tithe_call call = {.seed = 1, .given = given, .given_count = h.entries};
        call.scratch_size = tithe_frame_scratch(&h);
        call.scratch = fuzz_alloc(call.scratch_size);
        const tithe_status decoded = fuzz_decode(codec, &call, frame, length, h.n);
        const bool seeded = h.version == TITHE_WIRE_VERSION_DRAWN; /* with a seed that need not be ours */
        insist(decoded == TITHE_OK || decoded == TITHE_E_CORRUPT || (seeded && decoded == TITHE_E_MISMATCH),
               "a stranger's frame got status %d", decoded);
        call.any_seed = true;
        const tithe_status looked = fuzz_decode(codec, &call, frame, length, h.n);
        insist(looked == TITHE_OK || looked == TITHE_E_CORRUPT, "with any seed it got status %d", looked);
        free(call.scratch);
        free(given);
    }
    tithe_codec_free(codec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    take_frame(data, size);
    if (size < 5) return 0;
    uint8_t *frame = fuzz_alloc(size);
    memcpy(frame, data, size);
    fuzz_repair(frame, size);
    take_frame(frame, size);
    free(frame);
    return 0;
}
