/* lossy.h - a switch and its workers on a network that loses, repeats and reorders packets. Time is computed, and all that is
 * random comes from one seed: a run that fails, fails again. */
#ifndef TESTS_AGGREGATE_LOSSY_H
#define TESTS_AGGREGATE_LOSSY_H

#include "aggregate/aggregate.h"
#include "aggregate/codes.h"
#include "aggregate/window.h"
#include "support.h"

/* ---- packets, as a worker writes them ------------------------------------------------------------------------ */

static inline agg_address address_of(uint64_t a)
{
    return (agg_address){{a, a * 3, 1}};
}

/* `bits` each, the first one lowest; tests do it bit by bit. */
static inline void pack(uint8_t *to, const uint32_t *numbers, uint32_t count, uint32_t bits)
{
    memset(to, 0, packet_bytes(count, bits));
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t b = 0; b < bits; b++) {
            const uint32_t at = i * bits + b;
            if (numbers[i] >> b & 1) to[at / 8] |= (uint8_t)(1u << at % 8);
        }
}

static inline uint32_t unpack(const uint8_t *from, uint32_t i, uint32_t bits)
{
    uint32_t number = 0;
    for (uint32_t b = 0; b < bits; b++) {
        const uint32_t at = i * bits + b;
        number |= (uint32_t)(from[at / 8] >> at % 8 & 1) << b;
    }
    return number;
}

static inline size_t write_join(uint8_t *to, uint64_t job, unsigned worker, unsigned workers,
                                uint32_t datagram)
{
    const packet_head h = {.kind = KIND_JOIN, .job = job, .worker = (uint16_t)worker};
    packet_write(to, &h);
    put_u16(to + PACKET_HEAD, (uint16_t)workers);
    put_u16(to + PACKET_HEAD + 2, 0);
    put_u32(to + PACKET_HEAD + 4, datagram);
    return PACKET_HEAD + PACKET_JOIN;
}

static inline size_t write_part(uint8_t *to, const packet_head *h, const uint32_t *numbers)
{
    packet_write(to, h);
    pack(to + PACKET_HEAD, numbers, h->values, h->up);
    return PACKET_HEAD + packet_bytes(h->values, h->up);
}

/* ---- a switch ------------------------------------------------------------------------------------------------ */

typedef struct bench_switch {
    void *memory;
    aggregate *a;
    uint8_t *out;
} bench_switch;

static inline bench_switch switch_make(agg_shape shape)
{
    bench_switch s = {.memory = calloc(1, ti_aggregate_size(&shape)),
                      .out = calloc(1, ti_aggregate_room(&shape))};
    assert_true(s.memory && s.out && !ti_aggregate_refuse(&shape));
    s.a = ti_aggregate_start(s.memory, &shape);
    return s;
}

static inline void switch_free(bench_switch *s)
{
    free(s->memory);
    free(s->out);
}

static inline agg_answer give(bench_switch *s, uint64_t from, const uint8_t *packet, size_t length)
{
    const agg_address address = address_of(from);
    return ti_aggregate(s->a, &address, 0, packet, length, s->out);
}

/* All workers of a job join; returns its place. */
static inline uint8_t join_all(bench_switch *s, uint64_t job, unsigned workers, uint64_t addresses)
{
    uint8_t packet[PACKET_HEAD + PACKET_JOIN];
    agg_answer answer = {0};
    for (unsigned w = 0; w < workers; w++) {
        const size_t length = write_join(packet, job, w, workers, 1472);
        answer = give(s, addresses + w, packet, length);
        expect(answer.reason == AGG_FINE, "worker %u: %s", w, ti_agg_reason_name(answer.reason));
    }
    assert_true(answer.to_all && answer.length == PACKET_HEAD + PACKET_JOINED);
    return s->out[14];
}

/* ---- numbers that are added ---------------------------------------------------------------------------------- */

typedef struct numbers_kind {
    packet_operation operation;
    uint32_t up, down, most;
} numbers_kind;

static inline uint32_t bits_for(uint64_t most)
{
    uint32_t bits = 1;
    while (most >> bits) bits++;
    return bits;
}

/* Of every operation, in several widths, as large as so many workers may send them. */
static inline numbers_kind kind_at(unsigned i, unsigned workers)
{
    uint32_t top = 1;
    while ((uint64_t)workers << top <= UINT64_C(1) << 30) top++;
    const uint32_t most = (uint32_t)(UINT32_MAX / workers);
    const numbers_kind kinds[] = {
        {OPERATION_NATURAL, 8, 8, top},
        {OPERATION_SUM, bits_for(most), 32, most},
        {OPERATION_SUM, 32, 32, most},
        {OPERATION_SUM, 4, bits_for(14 * workers), 14},
        {OPERATION_SUM, 8, bits_for(200 * workers), 200},
        {OPERATION_MAX, 8, 8, 254},
        {OPERATION_MAX, 32, 32, UINT32_MAX},
        {OPERATION_MAX, 5, 5, 31},
        {OPERATION_SUM, 1, bits_for(workers), 1},
        {OPERATION_NATURAL, 8, 8, 3},
    };
    return kinds[i % (sizeof kinds / sizeof *kinds)];
}

static inline uint32_t roll_number(dice *d, numbers_kind k)
{
    const uint32_t sign = k.operation == OPERATION_NATURAL && roll(d) & 1 ? NATURAL_SIGN : 0;
    if (roll_below(d, 4) == 0) return k.most | sign; /* often the largest: where a sum would overflow */
    return (uint32_t)(roll(d) % ((uint64_t)k.most + 1)) | sign;
}

/* What all parts come to, computed without the switch: of NATURAL the exact sum, which has to be rounded still. */
static inline int64_t come_to(numbers_kind k, int64_t sum, uint32_t number)
{
    if (k.operation == OPERATION_MAX) return number > sum ? (int64_t)number : sum;
    if (k.operation == OPERATION_SUM) return sum + number;
    const int exponent = (int)(number & 127);
    const int64_t value = exponent ? INT64_C(1) << (exponent - 1) : 0;
    return number & NATURAL_SIGN ? sum - value : sum + value;
}

/* Is that the sum, or a power of two beside it? */
static inline bool is_outcome(numbers_kind k, int64_t sum, uint32_t number)
{
    if (k.operation != OPERATION_NATURAL) return (int64_t)number == sum;
    const int64_t size = sum < 0 ? -sum : sum;
    const int exponent = (int)(number & 127);
    if (size == 0) return number == 0;
    if (!exponent || (number >> 7 != 0) != (sum < 0)) return false;
    const int64_t got = INT64_C(1) << (exponent - 1);
    return got == size || (got < size && 2 * got > size) || (got > size && got < 2 * size);
}

/* ---- a network ----------------------------------------------------------------------------------------------- */

enum {
    LOSSY_WORKERS = 8,
    LOSSY_VALUES = 24,
    LOSSY_SLOTS = 16,
    LOSSY_HANGS = 100000 /* seconds, computed ones: no weather of these tests takes a hundredth of it */
};

typedef struct weather {
    double loss, repeat; /* shares of the packets */
    double fast, slow;   /* seconds that one is under way: whatever lies between */
} weather;

typedef struct lossy_packet {
    double at; /* when it arrives */
    int to;    /* a worker, or -1: the switch */
    unsigned from;
    size_t length;
    uint8_t bytes[PACKET_HEAD + 4 * LOSSY_VALUES];
} lossy_packet;

typedef struct lossy_worker {
    window w;
    void *memory;
    unsigned reduction; /* that it is at */
    double starts;      /* it computes until then */
} lossy_worker;

typedef struct lossy {
    unsigned workers, reductions, chunks;
    weather sky;
    dice d;
    uint64_t seed;
    double now;
    uint64_t packets; /* that were sent, repeated ones not counted */
    bench_switch s;
    uint8_t place;
    lossy_worker of[LOSSY_WORKERS];
    lossy_packet *flying; /* a heap: the first to arrive is on top */
    size_t count, room;
    uint64_t wrong;
} lossy;

static inline void heap_push(lossy *l, const lossy_packet *p)
{
    if (l->count == l->room) {
        l->room = l->room ? 2 * l->room : 1024;
        l->flying = realloc(l->flying, l->room * sizeof *l->flying);
        assert_non_null(l->flying);
    }
    size_t i = l->count++;
    for (; i && l->flying[(i - 1) / 2].at > p->at; i = (i - 1) / 2) l->flying[i] = l->flying[(i - 1) / 2];
    l->flying[i] = *p;
}

static inline lossy_packet heap_pop(lossy *l)
{
    const lossy_packet top = l->flying[0], last = l->flying[--l->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < l->count; i = child) {
        child += child + 1 < l->count && l->flying[child + 1].at < l->flying[child].at;
        if (l->flying[child].at >= last.at) break;
        l->flying[i] = l->flying[child];
    }
    l->flying[i] = last;
    return top;
}

static inline void post(lossy *l, int to, unsigned from, const uint8_t *bytes, size_t length)
{
    lossy_packet p = {.to = to, .from = from, .length = length};
    memcpy(p.bytes, bytes, length);
    l->packets++;
    const unsigned copies = 1 + (roll_unit(&l->d) < l->sky.repeat);
    for (unsigned c = 0; c < copies; c++) {
        if (roll_unit(&l->d) < l->sky.loss) continue;
        p.at = l->now + l->sky.fast + (l->sky.slow - l->sky.fast) * roll_unit(&l->d);
        if (roll_below(&l->d, 50) == 0) p.at += 5 * l->sky.slow; /* far behind all others */
        heap_push(l, &p);
    }
}

/* Number i of a worker's chunk: a function of all of them, so that anybody can ask for it. */
static inline uint32_t number_of(const lossy *l, unsigned reduction, uint32_t chunk, unsigned worker,
                                 uint32_t i)
{
    dice d = {l->seed ^ (uint64_t)reduction << 48 ^ (uint64_t)chunk << 24 ^ (uint64_t)worker << 8 ^ i};
    roll(&d);
    return roll_number(&d, kind_at(reduction, l->workers));
}

static inline packet_head head_of(const lossy *l, unsigned reduction, uint32_t number, unsigned worker)
{
    const numbers_kind k = kind_at(reduction, l->workers);
    return (packet_head){.kind = KIND_PART,
                         .job = l->seed,
                         .place = l->place,
                         .worker = (uint16_t)worker,
                         .number = number,
                         .operation = (uint8_t)k.operation,
                         .up = (uint8_t)k.up,
                         .down = (uint8_t)k.down,
                         .most = k.most,
                         .values = LOSSY_VALUES,
                         .draw = 77 * (uint64_t)number};
}

static inline void send_chunk(lossy *l, unsigned worker, uint32_t chunk)
{
    uint8_t bytes[PACKET_HEAD + 4 * LOSSY_VALUES];
    uint32_t numbers[LOSSY_VALUES];
    const lossy_worker *w = &l->of[worker];
    for (uint32_t i = 0; i < LOSSY_VALUES; i++) numbers[i] = number_of(l, w->reduction, chunk, worker, i);
    const packet_head h = head_of(l, w->reduction, window_number(&w->w, chunk), worker);
    post(l, -1, worker, bytes, write_part(bytes, &h, numbers));
}

static inline void check_sum(lossy *l, unsigned reduction, uint32_t chunk, const uint8_t *body)
{
    const numbers_kind k = kind_at(reduction, l->workers);
    for (uint32_t i = 0; i < LOSSY_VALUES; i++) {
        int64_t sum = 0;
        for (unsigned w = 0; w < l->workers; w++) sum = come_to(k, sum, number_of(l, reduction, chunk, w, i));
        l->wrong += !is_outcome(k, sum, unpack(body, i, k.down));
    }
}

/* A worker begins its next reduction, after it has computed for a while: they are late by different times. */
static inline void go_on(lossy *l, unsigned worker)
{
    lossy_worker *w = &l->of[worker];
    while (window_is_done(&w->w) && w->reduction < l->reductions) {
        w->reduction++;
        w->starts = l->now + (roll_below(&l->d, 8) ? 0 : 0.05 * roll_unit(&l->d));
        if (w->reduction < l->reductions) ti_window_begin(&w->w, 1 + (w->reduction * 7 + 3) % l->chunks);
    }
}

static inline void work(lossy *l, unsigned worker)
{
    uint32_t chunk;
    lossy_worker *w = &l->of[worker];
    go_on(l, worker);
    while (l->now >= w->starts && w->reduction < l->reductions && ti_window_next(&w->w, l->now, &chunk))
        send_chunk(l, worker, chunk);
}

static inline void arrive(lossy *l, const lossy_packet *p)
{
    uint32_t chunk;
    if (p->to < 0) {
        const agg_answer answer = give(&l->s, 1 + p->from, p->bytes, p->length);
        for (unsigned w = 0; answer.length && w < l->workers; w++)
            if (answer.to_all || w == p->from) post(l, (int)w, 0, l->s.out, answer.length);
        return;
    }
    lossy_worker *w = &l->of[p->to];
    const packet_head h = packet_read(p->bytes);
    if (w->reduction < l->reductions && h.kind == KIND_SUM && ti_window_take(&w->w, h.number, l->now, &chunk))
        check_sum(l, w->reduction, chunk, p->bytes + PACKET_HEAD);
}

static inline bool all_are_done(const lossy *l)
{
    for (unsigned w = 0; w < l->workers; w++)
        if (l->of[w].reduction < l->reductions) return false;
    return true;
}

/* When something happens next. */
static inline double next_event(const lossy *l)
{
    double next = l->count ? l->flying[0].at : INFINITY;
    for (unsigned w = 0; w < l->workers; w++) {
        const lossy_worker *of = &l->of[w];
        if (of->reduction == l->reductions) continue;
        next = fmin(next, fmax(of->starts, ti_window_wake(&of->w, l->now)));
    }
    return next;
}

/* All reductions, of up to `chunks` packets each. */
static inline void lossy_run(lossy *l)
{
    const agg_shape shape = {.workers = l->workers,
                             .slots = LOSSY_SLOTS,
                             .values = LOSSY_VALUES,
                             .jobs = 2,
                             .datagram = 1472,
                             .lease = AGG_LEASE};
    l->d.state = l->seed;
    l->s = switch_make(shape);
    l->place = join_all(&l->s, l->seed, l->workers, 1);
    for (unsigned w = 0; w < l->workers; w++) {
        l->of[w].memory = malloc(ti_window_size(LOSSY_SLOTS));
        ti_window_open(&l->of[w].w, l->of[w].memory, LOSSY_SLOTS, LOSSY_SLOTS);
        ti_window_begin(&l->of[w].w, 1 + 3 % l->chunks);
    }
    while (!all_are_done(l)) {
        for (unsigned w = 0; w < l->workers; w++) work(l, w);
        if (all_are_done(l)) break;
        const double next = next_event(l);
        expect(next < LOSSY_HANGS, "%u workers, seed %llu: they hang", l->workers,
               (unsigned long long)l->seed);
        l->now = fmax(l->now + 1e-9, next);
        while (l->count && l->flying[0].at <= l->now) {
            const lossy_packet p = heap_pop(l);
            arrive(l, &p);
        }
    }
}

static inline void lossy_free(lossy *l)
{
    for (unsigned w = 0; w < l->workers; w++) free(l->of[w].memory);
    switch_free(&l->s);
    free(l->flying);
}

#endif
