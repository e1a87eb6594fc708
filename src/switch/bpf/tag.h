/* tag.h - the tag that closes a packet under a key, inside the kernel: SipHash-2-4 with 128 bits. Outside it is libsodium's (seal.c). */
#ifndef SWITCH_BPF_TAG_H
#define SWITCH_BPF_TAG_H

#include "switch/bpf_state.h"

typedef struct tagger {
    const uint8_t *bytes; /* BPF_ROOM of them, of which `length` count */
    uint32_t length, first;
    uint64_t v[4];
} tagger;

static inline uint64_t tag_turn(uint64_t x, uint32_t by)
{
    return x << by | x >> (64 - by);
}

static inline void tag_rounds(uint64_t v[4], uint32_t count)
{
    uint64_t a = v[0], b = v[1], c = v[2], d = v[3];
#pragma unroll
    for (uint32_t i = 0; i < count; i++) {
        a += b;
        c += d;
        b = tag_turn(b, 13) ^ a;
        d = tag_turn(d, 16) ^ c;
        a = tag_turn(a, 32);
        c += b;
        a += d;
        b = tag_turn(b, 17) ^ c;
        d = tag_turn(d, 21) ^ a;
        c = tag_turn(c, 32);
    }
    v[0] = a;
    v[1] = b;
    v[2] = c;
    v[3] = d;
}

static inline void tag_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    tag_rounds(v, 2);
    v[0] ^= word;
}

enum { TAG_WORDS = 8 }; /* of a block */

static long tag_block(uint32_t block, tagger *t)
{
    const uint64_t *words = (const uint64_t *)(t->bytes + (block * TAG_WORDS * 8 & (BPF_ROOM - 1)));
#pragma unroll
    for (uint32_t i = 0; i < TAG_WORDS; i++) tag_word(t->v, words[i]);
    return 0;
}

static long tag_one(uint32_t word, tagger *t)
{
    tag_word(t->v, *(const uint64_t *)(t->bytes + ((t->first + word) * 8 & (BPF_ROOM - 1))));
    return 0;
}

static inline void tag_make(tagger *t, const volatile uint64_t key[2], uint64_t tag[2])
{
    const uint32_t words = t->length / 8, left = t->length % 8;
    t->v[0] = key[0] ^ UINT64_C(0x736f6d6570736575);
    t->v[1] = key[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee;
    t->v[2] = key[0] ^ UINT64_C(0x6c7967656e657261);
    t->v[3] = key[1] ^ UINT64_C(0x7465646279746573);
    t->first = words / TAG_WORDS * TAG_WORDS;
    bpf_loop(words / TAG_WORDS, tag_block, t, 0);
    bpf_loop(words % TAG_WORDS, tag_one, t, 0);
    const uint64_t last = *(const uint64_t *)(t->bytes + (words * 8 & (BPF_ROOM - 1)));
    tag_word(t->v, (last & ((UINT64_C(1) << 8 * left) - 1)) | (uint64_t)t->length << 56);
    t->v[2] ^= 0xee;
    tag_rounds(t->v, 4);
    tag[0] = t->v[0] ^ t->v[1] ^ t->v[2] ^ t->v[3];
    t->v[1] ^= 0xdd;
    tag_rounds(t->v, 4);
    tag[1] = t->v[0] ^ t->v[1] ^ t->v[2] ^ t->v[3];
}

#endif
