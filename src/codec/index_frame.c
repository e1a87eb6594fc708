/* index_frame.c - positions without values: the frame of a selector that sends its indices, with nothing where the
 * values would be. Header, coding and checksum are those of every other frame (docs/format.md). */
#include "codec/codec.h"

size_t ti_index_frame_write(const tithe_codec *codec, const tithe_call *call, const uint32_t *indices,
                            size_t count, size_t n, uint8_t *frame)
{
    const index_plan plan = ti_indices_plan(indices, count, n);
    uint8_t *p = frame + ti_header_write(codec, call, n, count, &plan, frame);
    ti_indices_write(&plan, indices, count, n, p);
    p += bytes_of_bits(plan.bits);
    put_u32(p, tithe_crc32c(frame, (size_t)(p - frame)));
    return (size_t)(p - frame) + CHECKSUM_BYTES;
}

/* All of n, and none at all, go without a word about where they are. */
static bool read_positions(const tithe_frame_header *h, index_plan *plan, const uint8_t *src,
                           uint32_t *indices)
{
    if (indices_have_coding(h->entries, h->n))
        return ti_indices_read(plan, src, h->payload_bytes, h->entries, h->n, indices) &&
               bytes_of_bits(plan->bits) == h->payload_bytes;
    for (size_t i = 0; i < h->entries; i++) indices[i] = (uint32_t)i;
    return h->payload_bytes == 0;
}

tithe_status ti_index_frame_read(const tithe_codec *codec, const tithe_call *call, const uint8_t *frame,
                                 size_t length, size_t n, size_t max, uint32_t *indices, size_t *count,
                                 tithe_error *error)
{
    tithe_frame_header h;
    index_plan plan;
    const tithe_status status = ti_header_read(frame, length, codec, call, n, &h, &plan, error);
    if (status) return status;
    if (h.form != call->form || h.entries > max)
        return ti_fail(error, TITHE_E_MISMATCH, 3, "The frame has %zu positions, but %s sends %zu at most.",
                       h.entries, codec->spec, max);
    if (!read_positions(&h, &plan, frame + h.header_bytes, indices))
        return ti_fail(error, TITHE_E_CORRUPT, h.header_bytes, "The indices of the frame make no sense.");
    *count = h.entries;
    return TITHE_OK;
}
