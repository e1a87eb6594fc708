/* program.c - the switch inside the kernel: parts of sums are taken where packets come in, before any socket sees them, and the sum
 * goes out from there. Slots, packets and codes are those of aggregate.c (packet.h, slot.h, codes.h); what begins and ends a job is for the
 * process that loaded this, which all other packets reach as ever.
 *
 * A slot is locked by one word in it, since the kernel's own lock lets nobody call a function; whoever waits in vain drops the packet, and the
 * worker sends it again. Numbers come in blocks of 8, which begin at a byte whatever their width. There are no branches inside a
 * block: the kernel's verifier follows each of them. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define inline inline __attribute__((always_inline)) /* a call takes no struct, and few arguments */
#include "aggregate/codes.h"
#include "switch/bpf/tag.h"
#include "switch/bpf_state.h"

enum {
    HEADS = sizeof(struct ethhdr) + sizeof(struct iphdr) + sizeof(struct udphdr),
    TRIES = 4096, /* to get hold of a slot */
    BLOCK = 8,
    TIME_TO_LIVE = 64
};

const volatile bpf_setup setup;

/* How many there are, and how long the slots, is set before this is loaded. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, bpf_place);
} places SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, bpf_peer);
} peers SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(bpf_slot));
} slots SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, bpf_counts);
} counts SEC(".maps");

/* The packet that a processor is at, and room for what is read and written behind its end. */
typedef struct packet_room_bytes {
    uint8_t bytes[2 * BPF_ROOM];
} packet_room_bytes;

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, packet_room_bytes);
} rooms SEC(".maps");

typedef struct work {
    uint8_t *codes; /* of the packet */
    bpf_slot *slot;
    packet_head h;
    uint64_t wrong;
    uint32_t first, held;
} work;

static inline int drop(bpf_counts *c, agg_reason why)
{
    c->dropped[why]++;
    return TC_ACT_SHOT;
}

/* ---- numbers ------------------------------------------------------------------------------------------------- */

/* Where number j of a block begins: no further than a packet is long. */
static inline uint8_t *code_at(uint8_t *codes, uint32_t block, uint32_t bits, uint32_t j)
{
    return codes + ((block * bits + (j * bits >> 3)) & (BPF_ROOM - 1));
}

/* All of a block. Most have 8 bits, or 32. */
static inline void read_block(const work *w, uint32_t block, uint32_t code[BLOCK])
{
    const uint32_t bits = w->h.up & 63;
    if (bits == 8) {
        const uint64_t all = *(const uint64_t *)code_at(w->codes, block, 8, 0);
#pragma unroll
        for (uint32_t j = 0; j < BLOCK; j++) code[j] = (uint32_t)(all >> 8 * j) & 0xff;
    } else if (bits == 32) {
        const uint32_t *at = (const uint32_t *)code_at(w->codes, block, 32, 0);
#pragma unroll
        for (uint32_t j = 0; j < BLOCK; j++) code[j] = at[j];
    } else {
#pragma unroll
        for (uint32_t j = 0; j < BLOCK; j++) {
            const uint64_t here = *(const uint64_t *)code_at(w->codes, block, bits, j);
            code[j] = (uint32_t)(here >> (j * bits & 7)) & (uint32_t)((UINT64_C(1) << bits) - 1);
        }
    }
}

/* 1: a > b. The compiler must not see that this is a comparison, or it makes a branch of it. */
static inline uint64_t exceeds(uint64_t a, uint64_t b)
{
    uint64_t less = b - a;
    barrier_var(less);
    return less >> 63;
}

static long check_block(uint32_t block, work *w)
{
    const uint32_t mask = w->h.operation == OPERATION_NATURAL ? NATURAL_SIGN - 1u : UINT32_MAX;
    uint64_t wrong = 0;
    uint32_t code[BLOCK];
    read_block(w, block, code);
#pragma unroll
    for (uint32_t j = 0; j < BLOCK; j++) wrong |= exceeds(code[j] & mask, w->h.most);
    if (block * BLOCK + BLOCK > w->h.values) /* the last one, behind which the padding is zero */
#pragma unroll
        for (uint32_t j = 0; j < BLOCK; j++)
            wrong |= exceeds(block * BLOCK + j + 1, w->h.values) & exceeds(code[j], 0);
    w->wrong |= wrong;
    return 0;
}

/* The first part is what the slot holds from then on. */
static long take_block(uint32_t block, work *w)
{
    uint32_t *sums = w->slot->sums + (block & setup.block_mask) * BLOCK;
    const uint32_t keep = w->first - 1u; /* all bits of it, or none */
    const uint32_t operation = w->h.operation;
    uint32_t code[BLOCK];
    read_block(w, block, code);
    if (operation == OPERATION_NATURAL) {
#pragma unroll
        for (uint32_t j = 0; j < BLOCK; j++) { /* of exponent 0 the one bit is shifted out */
            const uint32_t exponent = code[j] & 31, minus = 0u - (code[j] >> 7);
            const uint32_t value = (uint32_t)((UINT64_C(1) << exponent) >> 1);
            sums[j] = (sums[j] & keep) + ((value ^ minus) - minus);
        }
    } else if (operation == OPERATION_SUM) {
#pragma unroll
        for (uint32_t j = 0; j < BLOCK; j++) sums[j] = (sums[j] & keep) + code[j];
    } else {
#pragma unroll
        for (uint32_t j = 0; j < BLOCK; j++) {
            const uint64_t own = code[j], sum = sums[j] & keep;
            sums[j] = (uint32_t)(sum + ((own - sum) & (0 - exceeds(own, sum))));
        }
    }
    return 0;
}

/* C_M, as codes_round(). */
static inline uint32_t round_sum(uint32_t sum, uint64_t random)
{
    const uint32_t sign = sum >> 31, minus = 0u - sign, magnitude = (sum ^ minus) - minus;
    const uint32_t some = 0u - (uint32_t)exceeds(magnitude, 0), h = codes_highest_bit(magnitude | 1u);
    const uint32_t below = (UINT32_C(1) << (h & 31)) - 1;
    const uint32_t up = (uint32_t)exceeds(magnitude & below, (uint32_t)random & below);
    return (sign << 7 | (h + up + 1)) & some;
}

static long write_block(uint32_t block, work *w)
{
    const uint32_t *sums = w->slot->sums + (block & setup.block_mask) * BLOCK;
    const uint32_t bits = w->h.down & 63;
    if (w->h.operation == OPERATION_NATURAL) {
        uint64_t all = 0;
#pragma unroll
        for (uint32_t j = 0; j < BLOCK; j++)
            all |= (uint64_t)round_sum(sums[j], codes_random(w->h.draw, block * BLOCK + j)) << 8 * j;
        *(uint64_t *)code_at(w->codes, block, 8, 0) = all;
        return 0;
    }
    if (bits == 32) {
        uint32_t *to = (uint32_t *)code_at(w->codes, block, 32, 0);
#pragma unroll
        for (uint32_t j = 0; j < BLOCK; j++) to[j] = sums[j];
        return 0;
    }
    uint64_t *clear = (uint64_t *)code_at(w->codes, block, bits, 0); /* the blocks behind it come later */
#pragma unroll
    for (uint32_t i = 0; i < 5; i++) clear[i] = 0;
#pragma unroll
    for (uint32_t j = 0; j < BLOCK; j++)
        *(uint64_t *)code_at(w->codes, block, bits, j) |= (uint64_t)sums[j] << (j * bits & 7);
    return 0;
}

static inline uint32_t blocks_of(const work *w)
{
    return (w->h.values + BLOCK - 1) / BLOCK;
}

/* ---- the way back -------------------------------------------------------------------------------------------- */

typedef struct back {
    struct __sk_buff *skb;
    uint32_t first_peer, length; /* of all peers; of the packet behind its heads */
} back;

typedef struct heads {
    struct ethhdr eth;
    struct iphdr ip;
    struct udphdr udp;
} __attribute__((packed)) heads;

/* In place of those that came. UDP goes without a checksum: what the device would make of one is not known here. */
static __noinline int address(struct __sk_buff *skb, const bpf_peer *to, uint32_t length)
{
    heads h = {
        .eth = {.h_proto = bpf_htons(ETH_P_IP)},
        .ip = {.version = 4,
               .ihl = 5,
               .tot_len = bpf_htons((uint16_t)(length + sizeof h.ip + sizeof h.udp)),
               .frag_off = bpf_htons(0x4000), /* in one piece */
               .ttl = TIME_TO_LIVE,
               .protocol = IPPROTO_UDP,
               .saddr = setup.ip,
               .daddr = to->ip},
        .udp = {.source = setup.port, .dest = to->port, .len = bpf_htons((uint16_t)(length + sizeof h.udp))},
    };
    __builtin_memcpy(h.eth.h_dest, to->mac, 6);
    __builtin_memcpy(h.eth.h_source, to->own, 6);
    struct iphdr ip = h.ip;
    uint64_t sum = (uint64_t)bpf_csum_diff(0, 0, (__be32 *)&ip, sizeof ip, 0);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    h.ip.check = (uint16_t)~sum;
    return (int)bpf_skb_store_bytes(skb, 0, &h, sizeof h, 0);
}

static long send_one(uint32_t worker, back *b)
{
    const uint32_t at = b->first_peer + worker;
    const bpf_peer *to = bpf_map_lookup_elem(&peers, &at);
    if (to && to->interface && !address(b->skb, to, b->length)) bpf_clone_redirect(b->skb, to->interface, 0);
    return 0;
}

/* The sum to one of them, or to all. What is lost on the way is asked for again. */
static inline int send_sum(struct __sk_buff *skb, work *w, uint8_t *packet, uint32_t first_peer,
                           uint32_t worker, bool to_all)
{
    const uint32_t untagged = PACKET_HEAD + packet_bytes(w->h.values, w->h.down),
                   length = untagged + setup.tag;
    back b = {.skb = skb, .first_peer = first_peer, .length = length};
    bpf_loop(blocks_of(w), write_block, w, 0);
    packet[3] = KIND_SUM;
    packet[12] = packet[13] = 0; /* one packet for all */
    if (setup.tag) {
        tagger t = {.bytes = packet, .length = untagged};
        tag_make(&t, setup.key, (uint64_t *)(packet + (untagged & (BPF_ROOM - 1))));
    }
    if (skb->len != HEADS + length && bpf_skb_change_tail(skb, HEADS + length, 0)) return TC_ACT_SHOT;
    const uint32_t bytes = length & (BPF_ROOM - 1);
    if (bytes == 0 || bpf_skb_store_bytes(skb, HEADS, packet, bytes, 0)) return TC_ACT_SHOT;
    if (to_all && setup.workers > 1) bpf_loop(setup.workers - 1, send_one, &b, 0);
    const uint32_t last = first_peer + (to_all ? setup.workers - 1 : worker);
    const bpf_peer *to = bpf_map_lookup_elem(&peers, &last);
    if (!to || !to->interface || address(skb, to, length)) return TC_ACT_SHOT;
    return (int)bpf_redirect(to->interface, 0);
}

/* ---- a part --------------------------------------------------------------------------------------------------- */

static long try_hold(uint32_t i, work *w)
{
    (void)i;
    w->held = __sync_val_compare_and_swap(&w->slot->lock, 0, 1) == 0;
    return w->held;
}

static inline bool get_hold(work *w)
{
    bpf_loop(TRIES, try_hold, w, 0);
    return w->held;
}

static inline void let_go(bpf_slot *s)
{
    __sync_lock_test_and_set(&s->lock, 0);
}

static inline int take_part(struct __sk_buff *skb, bpf_counts *c, const bpf_place *p, work *w,
                            packet_room_bytes *room, uint32_t rest, uint32_t first_peer)
{
    const packet_head *h = &w->h;
    const uint32_t workers = setup.workers, many = setup.slots;
    if (!codes_make_sense(h, workers) || h->values > setup.values ||
        PACKET_HEAD + packet_bytes(h->values, h->down) > p->datagram)
        return drop(c, AGG_FORMAT);
    const uint32_t expected = packet_bytes(h->values, h->up);
    if (rest != expected) return drop(c, rest < expected ? AGG_SHORT : AGG_LONG);
    if (!p->ready) return drop(c, AGG_EARLY);
    const uint32_t at = (h->place * 2 + slot_version(h->number, many)) * many + slot_index(h->number, many);
    bpf_slot *s = bpf_map_lookup_elem(&slots, &at);
    if (!s) return drop(c, AGG_FORMAT);
    uint64_t *behind = (uint64_t *)(room->bytes + ((PACKET_HEAD + rest) & (BPF_ROOM - 1)));
#pragma unroll
    for (uint32_t i = 0; i < 5; i++) behind[i] = 0; /* a tag, and what was here before */
    w->codes = room->bytes + PACKET_HEAD;
    w->slot = s;
    bpf_loop(blocks_of(w), check_block, w, 0);
    if (!get_hold(w)) return drop(c, AGG_BUSY);
    if (s->job != h->job) {
        let_go(s);
        return drop(c, AGG_JOB);
    }
    const slot_verdict verdict = slot_judge(&s->s, h, many, workers);
    bool finished = false;
    if (verdict <= SLOT_MORE && !w->wrong) {
        w->first = verdict == SLOT_FIRST;
        bpf_loop(blocks_of(w), take_block, w, 0);
        finished = slot_note(&s->s, h, verdict == SLOT_FIRST, workers);
    }
    let_go(s);
    switch (verdict) {
    case SLOT_OLD: return drop(c, AGG_REPLAYED);
    case SLOT_EARLY: return drop(c, AGG_EARLY);
    case SLOT_DIFFERENT: return drop(c, AGG_DIFFERENT);
    case SLOT_AGAIN: c->retransmitted++; break;
    case SLOT_DONE: c->retransmitted++; break;
    default:
        if (w->wrong) return drop(c, AGG_RANGE);
        c->aggregated += finished;
    }
    if (finished || verdict == SLOT_DONE)
        return send_sum(skb, w, room->bytes, first_peer, h->worker, finished);
    if (!p->left) return TC_ACT_SHOT;
    c->packets--; /* the process tells this worker who has left, and counts it */
    return TC_ACT_UNSPEC;
}

static inline bool tag_fits(const uint8_t *packet, uint32_t length)
{
    tagger t = {.bytes = packet, .length = length};
    const uint64_t *said = (const uint64_t *)(packet + (length & (BPF_ROOM - 1)));
    uint64_t tag[2];
    tag_make(&t, setup.key, tag);
    return ((tag[0] ^ said[0]) | (tag[1] ^ said[1])) == 0;
}

/* The worker's way, as its packets come. */
static inline void learn(bpf_peer *peer, const struct ethhdr *eth, uint32_t interface)
{
    __builtin_memcpy(peer->mac, eth->h_source, 6);
    __builtin_memcpy(peer->own, eth->h_dest, 6);
    peer->interface = interface;
}

SEC("tc")
int add_parts(struct __sk_buff *skb)
{
    const uint32_t zero = 0;
    if (skb->len < HEADS + PACKET_HEAD) return TC_ACT_UNSPEC;
    if (skb->data + HEADS + PACKET_HEAD > skb->data_end && bpf_skb_pull_data(skb, HEADS + PACKET_HEAD))
        return TC_ACT_UNSPEC;
    uint8_t *data = (void *)(long)skb->data;
    const uint8_t *end = (void *)(long)skb->data_end;
    if (data + HEADS + PACKET_HEAD > end) return TC_ACT_UNSPEC;
    const heads *in = (const void *)data;
    if (in->eth.h_proto != bpf_htons(ETH_P_IP) || in->ip.version != 4 || in->ip.ihl != 5 ||
        in->ip.protocol != IPPROTO_UDP || in->ip.frag_off & bpf_htons(0x3fff) || in->ip.daddr != setup.ip ||
        in->udp.dest != setup.port)
        return TC_ACT_UNSPEC;
    const uint8_t *packet = data + HEADS;
    const uint32_t length = (uint32_t)bpf_ntohs(in->udp.len) - sizeof(struct udphdr);
    if (length < PACKET_HEAD || length > skb->len - HEADS || length > setup.datagram ||
        !packet_is_marked(packet) || !packet_is_version(packet))
        return TC_ACT_UNSPEC;
    if (packet[3] != KIND_PART) return TC_ACT_UNSPEC;
    bpf_counts *c = bpf_map_lookup_elem(&counts, &zero);
    packet_room_bytes *room = bpf_map_lookup_elem(&rooms, &zero);
    if (!c || !room) return TC_ACT_UNSPEC;
    c->packets++;
    const heads from = *in; /* what is loaded below is not looked at twice */
    const uint32_t bytes = length & (BPF_ROOM - 1);
    if (bytes < PACKET_HEAD || bpf_skb_load_bytes(skb, HEADS, room->bytes, bytes)) return drop(c, AGG_SHORT);
    const uint32_t untagged = bytes - setup.tag;
    if (setup.tag && !tag_fits(room->bytes, untagged)) return drop(c, AGG_TAG);
    if (untagged < PACKET_HEAD) return drop(c, AGG_SHORT);
    work w = {.h = packet_read(room->bytes)};
    const uint32_t place_at = w.h.place;
    bpf_place *p = bpf_map_lookup_elem(&places, &place_at);
    if (!p || !p->taken || p->job != w.h.job) return drop(c, AGG_JOB);
    if (w.h.worker >= setup.workers) return drop(c, AGG_WORKER);
    const uint32_t first_peer = w.h.place * setup.workers, peer_at = first_peer + w.h.worker;
    bpf_peer *peer = bpf_map_lookup_elem(&peers, &peer_at);
    if (!peer || !peer->ip) return drop(c, AGG_WORKER);
    if (peer->ip != from.ip.saddr || peer->port != from.udp.source) return drop(c, AGG_STRANGER);
    learn(peer, &from.eth, skb->ifindex);
    p->heard = (uint32_t)(bpf_ktime_get_ns() / 1000000000);
    return take_part(skb, c, p, &w, room, untagged - PACKET_HEAD, first_peer);
}

char licensed[] SEC("license") = "Apache-2.0";
