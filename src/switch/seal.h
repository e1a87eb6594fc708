/* seal.h - tags that close packets under a key, so that a stranger cannot add to a sum: SipHash-2-4 with 128 bits, by libsodium;
 * bpf/tag.h has it for the kernel. */
#ifndef SWITCH_SEAL_H
#define SWITCH_SEAL_H

#include "aggregate/packet.h"
#include "tithe/status.h"

typedef struct seal {
    bool keyed;
    uint8_t key[16];
} seal;

/* From a file; `path` NULL: without a key. */
tithe_status ti_seal_open(seal *s, const char *path, tithe_error *error);
void ti_seal_close(seal *s);
static inline uint32_t seal_bytes(const seal *s)
{
    return s->keyed ? PACKET_TAG : 0;
}
/* Append the tag to `length` bytes, behind which there is room; the length with it. */
size_t ti_seal_close_packet(const seal *s, uint8_t *packet, size_t length);
/* Does the tag fit? *length becomes that without it. */
bool ti_seal_check(const seal *s, const uint8_t *packet, size_t *length);

#endif
