/* aggregate.c - see aggregate.h. */
#include "aggregate/aggregate.h"

#include <string.h>

#include "aggregate/codes.h"
#include "aggregate/slot.h"

/* What is kept of a job. */
typedef struct place {
    uint64_t job;
    bool taken;
    uint16_t here, left; /* workers that have joined, and that have gone again */
    uint32_t datagram;   /* the least of what the workers can send and receive */
    uint32_t heard;      /* when any of them was */
    uint64_t joined[PACKET_WORKERS / 64], gone[PACKET_WORKERS / 64];
} place;

struct aggregate {
    agg_shape shape;
    agg_counts counts;
    place *places;
    agg_address *addresses; /* of each place's workers */
    slot *slots;            /* of each place: version 0, then version 1 */
    uint32_t *sums;         /* of each slot */
};

const char *ti_agg_reason_name(agg_reason reason)
{
    static const char *const names[AGG_REASONS] = {
        "fine",   "short", "long",     "foreign", "version",   "tag",  "kind", "job",  "worker", "stranger",
        "format", "range", "replayed", "early",   "different", "full", "size", "gone", "busy"};
    return names[reason];
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static size_t aligned(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t slot_count(const agg_shape *s)
{
    return s->elsewhere ? 0 : (size_t)s->jobs * s->slots * 2;
}

const char *ti_aggregate_refuse(const agg_shape *s)
{
    if (s->workers < 1 || s->workers > PACKET_WORKERS) return "A switch adds for 1 to 1024 workers.";
    if (s->slots < 1 || s->slots > AGG_SLOTS_MAX || (s->slots & (s->slots - 1)))
        return "The slots of a switch are a power of two, up to 32768.";
    if (s->datagram < PACKET_SHORTEST || s->datagram > PACKET_LONGEST)
        return "A datagram has 84 to 65507 bytes.";
    if (s->values < 8 || s->values > 65528 || s->values % 8)
        return "A packet has room for 8 to 65528 numbers, a multiple of 8.";
    if (s->jobs < 1 || s->jobs > 256) return "A switch has places for 1 to 256 jobs.";
    return NULL;
}

size_t ti_aggregate_size(const agg_shape *s)
{
    return aligned(sizeof(aggregate)) + aligned(s->jobs * sizeof(place)) +
           aligned((size_t)s->jobs * s->workers * sizeof(agg_address)) +
           aligned(slot_count(s) * sizeof(slot)) + slot_count(s) * s->values * sizeof(uint32_t);
}

aggregate *ti_aggregate_start(void *memory, const agg_shape *s)
{
    uint8_t *at = memory;
    aggregate *a = memory;
    a->shape = *s;
    at += aligned(sizeof *a);
    a->places = (void *)at;
    at += aligned(s->jobs * sizeof(place));
    a->addresses = (void *)at;
    at += aligned((size_t)s->jobs * s->workers * sizeof(agg_address));
    a->slots = (void *)at;
    at += aligned(slot_count(s) * sizeof(slot));
    a->sums = (void *)at;
    return a;
}

size_t ti_aggregate_room(const agg_shape *s)
{
    return s->datagram + PACKET_TAG; /* the shortest datagram holds what is no sum */
}

const agg_counts *ti_aggregate_counts(const aggregate *a)
{
    return &a->counts;
}

const agg_shape *ti_aggregate_shape(const aggregate *a)
{
    return &a->shape;
}

const agg_address *ti_aggregate_address(const aggregate *a, uint32_t of, uint32_t worker)
{
    return &a->addresses[(size_t)of * a->shape.workers + worker];
}

/* ---- answers ----------------------------------------------------------------------------------------------- */

void ti_aggregate_count_dropped(aggregate *a, agg_reason reason)
{
    a->counts.packets++;
    a->counts.dropped[reason]++;
}

static agg_answer drop(aggregate *a, agg_reason reason)
{
    a->counts.dropped[reason]++;
    return (agg_answer){.reason = reason};
}

/* Dropped, and the sender is told why: it can do something about it. */
static agg_answer refuse(aggregate *a, const packet_head *h, agg_reason reason, uint32_t detail, uint8_t *out)
{
    packet_head back = *h;
    back.kind = KIND_REFUSED;
    packet_write(out, &back);
    put_u16(out + PACKET_HEAD, (uint16_t)reason);
    put_u16(out + PACKET_HEAD + 2, (uint16_t)detail);
    agg_answer answer = drop(a, reason);
    answer.length = PACKET_HEAD + PACKET_REFUSED;
    return answer;
}

static bool same_address(const agg_address *a, const agg_address *b)
{
    return ((a->words[0] ^ b->words[0]) | (a->words[1] ^ b->words[1]) | (a->words[2] ^ b->words[2])) == 0;
}

static bool bit(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> i % 64 & 1;
}

static void set_bit(uint64_t *bits, uint32_t i)
{
    bits[i / 64] |= UINT64_C(1) << i % 64;
}

/* ---- jobs -------------------------------------------------------------------------------------------------- */

/* Where the job is, or a place for it: one that is free, or one whose job was silent for long. NULL: there is none. */
static place *find_place(aggregate *a, uint64_t job, uint32_t now)
{
    place *best = NULL;
    for (place *p = a->places; p < a->places + a->shape.jobs; p++) {
        if (p->taken && p->job == job) return p;
        if (p->taken && now - p->heard <= a->shape.lease) continue;
        if (!best || (best->taken && (!p->taken || now - p->heard > now - best->heard))) best = p;
    }
    return best;
}

/* What was in its slots belonged to another job. */
static void open_place(aggregate *a, place *p, uint64_t job, uint32_t now)
{
    const size_t first = (size_t)(p - a->places) * a->shape.slots * 2;
    *p = (place){.job = job, .taken = true, .heard = now, .datagram = a->shape.datagram};
    for (size_t i = 0; i < slot_count(&a->shape) / a->shape.jobs; i++) a->slots[first + i].count = 0;
}

static agg_answer tell_who_is_here(const aggregate *a, const place *p, const packet_head *h, uint8_t *out)
{
    packet_head back = *h;
    back.kind = KIND_JOINED;
    back.place = (uint8_t)(p - a->places);
    back.operation = a->shape.elsewhere;
    packet_write(out, &back);
    uint8_t *body = out + PACKET_HEAD;
    put_u16(body, (uint16_t)a->shape.workers);
    put_u16(body + 2, p->here);
    put_u32(body + 4, p->here == a->shape.workers ? p->datagram : 0);
    put_u32(body + 8, a->shape.slots);
    put_u32(body + 12, a->shape.values);
    return (agg_answer){.length = PACKET_HEAD + PACKET_JOINED, .place = back.place};
}

/* When the last worker has joined, all hear of it. */
static agg_answer join(aggregate *a, const agg_address *from, uint32_t now, const packet_head *h,
                       const uint8_t *body, uint8_t *out)
{
    const uint32_t workers = get_u16(body), datagram = get_u32(body + 4);
    if (workers != a->shape.workers) return refuse(a, h, AGG_SIZE, a->shape.workers, out);
    if (h->worker >= workers) return drop(a, AGG_WORKER);
    if (get_u16(body + 2) != 0 || datagram < PACKET_SHORTEST || datagram > PACKET_LONGEST)
        return drop(a, AGG_FORMAT);
    place *p = find_place(a, h->job, now);
    if (!p) return refuse(a, h, AGG_FULL, a->shape.jobs, out);
    if (!p->taken || p->job != h->job) open_place(a, p, h->job, now);
    agg_address *home = &a->addresses[(size_t)(p - a->places) * a->shape.workers + h->worker];
    const bool known = bit(p->joined, h->worker);
    if (known && !same_address(home, from)) return drop(a, AGG_STRANGER);
    p->heard = now;
    if (!known) {
        *home = *from;
        set_bit(p->joined, h->worker);
        p->here++;
        if (datagram < p->datagram) p->datagram = datagram;
    }
    agg_answer answer = tell_who_is_here(a, p, h, out);
    answer.to_all = !known && p->here == a->shape.workers;
    return answer;
}

/* When all have left, the place is free. */
static agg_answer leave(place *p, const packet_head *h, uint32_t workers)
{
    if (bit(p->gone, h->worker)) return (agg_answer){0};
    set_bit(p->gone, h->worker);
    if (++p->left == workers) *p = (place){0};
    return (agg_answer){0};
}

/* ---- numbers ----------------------------------------------------------------------------------------------- */

/* One number after the other out of a stream of `bits` bits each. */
typedef struct code_reader {
    const uint8_t *at;
    uint64_t held;
    uint32_t have;
} code_reader;

static inline uint32_t next_code(code_reader *r, uint32_t bits)
{
    for (; r->have < bits; r->have += 8) r->held |= (uint64_t)*r->at++ << r->have;
    const uint32_t code = (uint32_t)(r->held & ((UINT64_C(1) << bits) - 1));
    r->held >>= bits;
    r->have -= bits;
    return code;
}

/* Is no number larger than it may be, and the padding zero? */
static bool in_range(const packet_head *h, const uint8_t *codes)
{
    uint32_t largest = 0;
    if (h->up == 8) {
        const uint8_t mask = h->operation == OPERATION_NATURAL ? NATURAL_SIGN - 1 : 0xff;
        uint8_t max = 0;
        for (uint32_t i = 0; i < h->values; i++) {
            const uint8_t code = codes[i] & mask;
            max = code > max ? code : max;
        }
        return max <= h->most;
    }
    if (h->up == 32) {
        for (uint32_t i = 0; i < h->values; i++) largest = codes_max(largest, get_u32(codes + 4 * (size_t)i));
        return largest <= h->most;
    }
    code_reader r = {.at = codes};
    for (uint32_t i = 0; i < h->values; i++) largest = codes_max(largest, next_code(&r, h->up));
    return largest <= h->most && r.held == 0;
}

/* What each byte of NATURAL stands for: codes_natural(), looked up. Exponents above 31 are out of range. */
#define PLUS(e) ((e) ? UINT32_C(1) << (((e)-1) & 31) : 0)
#define EIGHT(of, e) \
    of(e), of((e) + 1), of((e) + 2), of((e) + 3), of((e) + 4), of((e) + 5), of((e) + 6), of((e) + 7)
#define MINUS(e) (0u - PLUS(e))
static const uint32_t natural_values[256] = {
    EIGHT(PLUS, 0),  EIGHT(PLUS, 8),   EIGHT(PLUS, 16), EIGHT(PLUS, 24), [NATURAL_SIGN] = EIGHT(MINUS, 0),
    EIGHT(MINUS, 8), EIGHT(MINUS, 16), EIGHT(MINUS, 24)};

/* The first part is what the slot holds from then on. */
static void set_codes(const packet_head *h, const uint8_t *codes, uint32_t *sums)
{
    code_reader r = {.at = codes};
    if (h->operation == OPERATION_NATURAL)
        for (uint32_t i = 0; i < h->values; i++) sums[i] = natural_values[codes[i]];
    else if (h->up == 8)
        for (uint32_t i = 0; i < h->values; i++) sums[i] = codes[i];
    else if (h->up == 32)
        for (uint32_t i = 0; i < h->values; i++) sums[i] = get_u32(codes + 4 * (size_t)i);
    else
        for (uint32_t i = 0; i < h->values; i++) sums[i] = next_code(&r, h->up);
}

static void add_codes(const packet_head *h, const uint8_t *codes, uint32_t *sums)
{
    code_reader r = {.at = codes};
    if (h->operation == OPERATION_NATURAL)
        for (uint32_t i = 0; i < h->values; i++) sums[i] += natural_values[codes[i]];
    else if (h->operation == OPERATION_MAX)
        for (uint32_t i = 0; i < h->values; i++) sums[i] = codes_max(sums[i], next_code(&r, h->up));
    else if (h->up == 8)
        for (uint32_t i = 0; i < h->values; i++) sums[i] += codes[i];
    else if (h->up == 32)
        for (uint32_t i = 0; i < h->values; i++) sums[i] += get_u32(codes + 4 * (size_t)i);
    else
        for (uint32_t i = 0; i < h->values; i++) sums[i] += next_code(&r, h->up);
}

static void write_codes(const packet_head *h, const uint32_t *sums, uint8_t *to)
{
    if (h->operation == OPERATION_NATURAL) {
        for (uint32_t i = 0; i < h->values; i++) to[i] = codes_round(sums[i], codes_random(h->draw, i));
        return;
    }
    if (h->down == 32) {
        for (uint32_t i = 0; i < h->values; i++) put_u32(to + 4 * (size_t)i, sums[i]);
        return;
    }
    uint64_t held = 0;
    uint32_t have = 0;
    for (uint32_t i = 0; i < h->values; i++) {
        held |= (uint64_t)sums[i] << have;
        for (have += h->down; have >= 8; have -= 8, held >>= 8) *to++ = (uint8_t)held;
    }
    if (have) *to = (uint8_t)held;
}

/* ---- sums -------------------------------------------------------------------------------------------------- */

/* Of those whose part is missing, one that has left; `workers`: nobody has. */
static uint32_t who_is_missed(const aggregate *a, const place *p, const slot *s)
{
    uint32_t w = 0;
    while (w < a->shape.workers && !(bit(p->gone, w) && !slot_has(s, w))) w++;
    return w;
}

static agg_answer send_sum(const packet_head *h, const uint32_t *sums, uint8_t *out, bool to_all)
{
    packet_head back = *h;
    back.kind = KIND_SUM;
    back.worker = 0; /* one packet for all */
    packet_write(out, &back);
    write_codes(h, sums, out + PACKET_HEAD);
    return (agg_answer){
        .length = PACKET_HEAD + packet_bytes(h->values, h->down), .to_all = to_all, .place = h->place};
}

/* Of one that came here although it is added elsewhere: who has left? */
static agg_answer take_orphan(aggregate *a, const place *p, const packet_head *h, uint8_t *out)
{
    uint32_t w = 0;
    while (w < a->shape.workers && !bit(p->gone, w)) w++;
    return w < a->shape.workers ? refuse(a, h, AGG_GONE, w, out) : drop(a, AGG_KIND);
}

static agg_answer take_part(aggregate *a, const place *p, const packet_head *h, const uint8_t *codes,
                            size_t length, uint8_t *out)
{
    static const agg_reason why[] = {
        [SLOT_OLD] = AGG_REPLAYED, [SLOT_EARLY] = AGG_EARLY, [SLOT_DIFFERENT] = AGG_DIFFERENT};
    const uint32_t workers = a->shape.workers, slots = a->shape.slots;
    if (!codes_make_sense(h, workers) || h->values > a->shape.values ||
        PACKET_HEAD + packet_bytes(h->values, h->down) > p->datagram)
        return drop(a, AGG_FORMAT);
    const uint32_t expected = packet_bytes(h->values, h->up);
    if (length != expected) return drop(a, length < expected ? AGG_SHORT : AGG_LONG);
    if (p->here < workers) return drop(a, AGG_EARLY);
    const size_t at =
        ((size_t)h->place * 2 + slot_version(h->number, slots)) * slots + slot_index(h->number, slots);
    slot *s = &a->slots[at];
    uint32_t *sums = a->sums + at * a->shape.values;
    const slot_verdict verdict = slot_judge(s, h, slots, workers);
    if (verdict >= SLOT_OLD) return drop(a, why[verdict]);
    if (verdict == SLOT_DONE || verdict == SLOT_AGAIN) {
        a->counts.retransmitted++;
        if (verdict == SLOT_DONE) return send_sum(h, sums, out, false);
    } else {
        if (!in_range(h, codes)) return drop(a, AGG_RANGE);
        (verdict == SLOT_FIRST ? set_codes : add_codes)(h, codes, sums);
        if (slot_note(s, h, verdict == SLOT_FIRST, workers)) {
            a->counts.aggregated++;
            return send_sum(h, sums, out, true);
        }
    }
    const uint32_t missed = p->left ? who_is_missed(a, p, s) : workers;
    return missed < workers ? refuse(a, h, AGG_GONE, missed, out) : (agg_answer){.place = h->place};
}

/* ---- for those who add elsewhere --------------------------------------------------------------------------- */

agg_job ti_aggregate_job(const aggregate *a, uint32_t i)
{
    const place *p = &a->places[i];
    return (agg_job){.job = p->job,
                     .taken = p->taken,
                     .ready = p->here == a->shape.workers,
                     .left = p->left,
                     .datagram = p->datagram};
}

bool ti_aggregate_has_joined(const aggregate *a, uint32_t i, uint32_t worker)
{
    return bit(a->places[i].joined, worker);
}

void ti_aggregate_hear(aggregate *a, uint32_t i, uint32_t when)
{
    place *p = &a->places[i];
    if (p->taken && (int32_t)(when - p->heard) > 0) p->heard = when;
}

/* ---- all of it --------------------------------------------------------------------------------------------- */

agg_answer ti_aggregate(aggregate *a, const agg_address *from, uint32_t now, const uint8_t *packet,
                        size_t length, uint8_t *out)
{
    a->counts.packets++;
    if (length < PACKET_HEAD) return drop(a, AGG_SHORT);
    if (!packet_is_marked(packet)) return drop(a, AGG_FOREIGN);
    if (!packet_is_version(packet)) return drop(a, AGG_VERSION);
    const packet_head h = packet_read(packet);
    const uint8_t *body = packet + PACKET_HEAD;
    const size_t rest = length - PACKET_HEAD;
    if (h.kind == KIND_JOIN) {
        if (rest != PACKET_JOIN) return drop(a, rest < PACKET_JOIN ? AGG_SHORT : AGG_LONG);
        return join(a, from, now, &h, body, out);
    }
    if (h.kind != KIND_PART && h.kind != KIND_ASK && h.kind != KIND_LEAVE) return drop(a, AGG_KIND);
    place *p = h.place < a->shape.jobs ? &a->places[h.place] : NULL;
    if (!p || !p->taken || p->job != h.job)
        return h.kind == KIND_ASK ? refuse(a, &h, AGG_JOB, 0, out) : drop(a, AGG_JOB);
    if (h.worker >= a->shape.workers || !bit(p->joined, h.worker)) return drop(a, AGG_WORKER);
    if (!same_address(ti_aggregate_address(a, h.place, h.worker), from)) return drop(a, AGG_STRANGER);
    p->heard = now;
    if (h.kind == KIND_PART && a->shape.elsewhere) return take_orphan(a, p, &h, out);
    if (h.kind == KIND_PART) return take_part(a, p, &h, body, rest, out);
    if (rest) return drop(a, AGG_LONG);
    return h.kind == KIND_ASK ? tell_who_is_here(a, p, &h, out) : leave(p, &h, a->shape.workers);
}
