/* model.h - a switch over real sockets beside its model, which is ti_aggregate() alone: whatever packets both get, right ones and spoilt
 * ones, they answer the same bytes and count the same. */
#ifndef TESTS_SWITCH_MODEL_H
#define TESTS_SWITCH_MODEL_H

#include "aggregate/aggregate.h"
#include "aggregate/codes.h"
#include "switch/relay.h"
#include "switch/seal.h"

enum { MODEL_WORKERS = 2, MODEL_SLOTS = 4, MODEL_LENGTH = 300, MODEL_BATCH = 24 };

typedef struct answer_bytes {
    size_t length;
    uint8_t bytes[MODEL_LENGTH];
} answer_bytes;

typedef struct model {
    int sockets[MODEL_WORKERS + 1]; /* the last one is a stranger's */
    seal seal;
    aggregate *a;
    uint8_t *out;
    answer_bytes expected[MODEL_WORKERS + 1][4 * MODEL_BATCH];
    unsigned count[MODEL_WORKERS + 1];
    dice d;
    uint32_t number;                     /* of the next sum */
    uint32_t sums_over[2 * MODEL_SLOTS]; /* 1 + the number of the last one in each slot and version */
    answer_bytes begun[2 * MODEL_SLOTS]; /* what the first part of each sum looked like, be it spoilt */
} model;

static const uint64_t model_job = 0x1234567890ab;

/* To both; `m->a` NULL: it is not known yet what the switch is like. */
static inline void model_send(model *m, unsigned from, uint8_t *packet, size_t length)
{
    uint8_t sealed[2 * MODEL_LENGTH];
    memcpy(sealed, packet, length);
    const size_t sent = ti_seal_close_packet(&m->seal, sealed, length);
    assert_int_equal(send(m->sockets[from], sealed, sent, 0), sent);
    if (!m->a) return;
    const agg_address address = {{from, 0, 0}};
    const agg_answer answer = ti_aggregate(m->a, &address, 0, packet, length, m->out);
    if (!answer.length || m->out[3] == KIND_JOINED) return;
    if (answer.to_all) m->sums_over[get_u32(packet + 16) % (2 * MODEL_SLOTS)] = get_u32(packet + 16) + 1;
    for (unsigned w = 0; w <= MODEL_WORKERS; w++) {
        if (answer.to_all ? w == MODEL_WORKERS : w != from) continue;
        answer_bytes *e = &m->expected[w][m->count[w]++];
        e->length = answer.length;
        memcpy(e->bytes, m->out, answer.length);
    }
}

/* What comes back, as far as the answer to a question: that and nothing else is what the model said. */
static inline void model_compare(model *m, unsigned w)
{
    for (unsigned i = 0;; i++) {
        uint8_t bytes[2 * MODEL_LENGTH];
        struct pollfd readable = {.fd = m->sockets[w], .events = POLLIN};
        expect(poll(&readable, 1, 60000) == 1, "worker %u has no answer", w);
        size_t length = (size_t)recv(m->sockets[w], bytes, sizeof bytes, 0);
        expect(ti_seal_check(&m->seal, bytes, &length), "worker %u has an answer with another tag", w);
        if (bytes[3] == KIND_JOINED) {
            expect(i == m->count[w], "worker %u has %u answers, not %u", w, i, m->count[w]);
            break;
        }
        expect(i < m->count[w] && length == m->expected[w][i].length &&
                   memcmp(bytes, m->expected[w][i].bytes, length) == 0,
               "worker %u has another answer of kind %d and %zu bytes", w, bytes[3], length);
    }
    m->count[w] = 0;
}

static inline void model_join(model *m)
{
    agg_shape shape = {
        .workers = MODEL_WORKERS, .jobs = 4, .datagram = MODEL_LENGTH, .slots = MODEL_SLOTS, .lease = 60};
    for (unsigned turn = 0; turn < 2;
         turn++) { /* the model learns of it when the switch has said what it is like */
        for (unsigned w = 0; w < MODEL_WORKERS; w++) {
            uint8_t packet[PACKET_HEAD + PACKET_JOIN] = {0}, bytes[2 * MODEL_LENGTH];
            packet_write(packet, &(packet_head){.kind = KIND_JOIN, .job = model_job, .worker = (uint16_t)w});
            put_u16(packet + PACKET_HEAD, MODEL_WORKERS);
            put_u32(packet + PACKET_HEAD + 4, MODEL_LENGTH);
            model_send(m, w, packet, sizeof packet);
            for (unsigned got = 0; got < 1u + (turn == 0 && w + 1 == MODEL_WORKERS); got++)
                assert_true(recv(m->sockets[got ? 0 : w], bytes, sizeof bytes, 0) >=
                            PACKET_HEAD + PACKET_JOINED);
            shape.values = get_u32(bytes + PACKET_HEAD + 12);
            assert_int_equal(get_u32(bytes + PACKET_HEAD + 8), MODEL_SLOTS);
        }
        if (turn) break;
        m->out = malloc(ti_aggregate_room(&shape));
        m->a = ti_aggregate_start(calloc(1, ti_aggregate_size(&shape)), &shape);
    }
}

static inline answer_bytes *model_begun(model *m, uint32_t number)
{
    answer_bytes *b = &m->begun[number % (2 * MODEL_SLOTS)];
    return b->length && get_u32(b->bytes + 16) == number ? b : NULL;
}

/* The packet was taken as a part: those of the others look like it. */
static inline void model_note(model *m, const uint8_t *packet, size_t length)
{
    const uint32_t number = get_u32(packet + 16);
    if (model_begun(m, number)) return;
    answer_bytes *b = &m->begun[number % (2 * MODEL_SLOTS)];
    b->length = length;
    memcpy(b->bytes, packet, length);
}

/* A part that is right, of any width. */
static inline size_t model_part(model *m, uint32_t number, unsigned worker, uint8_t *packet)
{
    dice d = {number};
    const answer_bytes *begun = model_begun(m, number);
    if (begun) {
        memcpy(packet, begun->bytes, begun->length);
        put_u16(packet + 12, (uint16_t)worker);
        return begun->length;
    }
    static const uint8_t widths[] = {1, 3, 8, 13, 32};
    packet_head h = {.kind = KIND_PART, .job = model_job, .worker = (uint16_t)worker, .number = number};
    h.operation = (uint8_t)roll_below(&d, 3);
    h.up = h.down = h.operation == OPERATION_NATURAL ? 8 : widths[roll_below(&d, 5)];
    if (h.operation == OPERATION_SUM && h.up < 32) h.down = h.up + 1;
    h.most = h.operation == OPERATION_NATURAL ? 30
             : h.operation == OPERATION_MAX   ? (uint32_t)((UINT64_C(1) << h.up) - 1)
                                              : (uint32_t)((UINT64_C(1) << h.down) - 1) / 2;
    const size_t room = 8 * (MODEL_LENGTH - 60) / h.down, most = room < 240 ? room : 240;
    h.values = (uint16_t)(1 + roll_below(&d, most)); /* every switch has room for 240 */
    h.draw = roll(&d);
    memset(packet, 0, MODEL_LENGTH);
    packet_write(packet, &h);
    for (uint32_t i = 0, bit = 0; i < h.values; i++) {
        uint32_t code = (uint32_t)(roll(&m->d) % ((uint64_t)h.most + 1));
        if (h.operation == OPERATION_NATURAL) code |= (uint32_t)(roll(&m->d) & NATURAL_SIGN);
        for (uint32_t b = 0; b < h.up; b++, bit++)
            packet[PACKET_HEAD + bit / 8] |= (uint8_t)((code >> b & 1) << bit % 8);
    }
    return PACKET_HEAD + packet_bytes(h.values, h.up);
}

/* One of the others, or of none; or a byte or the length is another one. */
static inline size_t model_spoil(model *m, uint8_t *packet, size_t length)
{
    switch (roll_below(&m->d, 6)) {
    case 0: packet[roll_below(&m->d, length)] ^= (uint8_t)(1u << roll_below(&m->d, 8)); break;
    case 1: packet[12 + roll_below(&m->d, PACKET_HEAD - 12)] = (uint8_t)roll(&m->d); break;
    case 2: put_u32(packet + 16, m->number + (uint32_t)roll_below(&m->d, 40) - 20); break;
    case 3: return roll_below(&m->d, length + 1);
    case 4: return length + roll_below(&m->d, MODEL_LENGTH - PACKET_TAG - length + 1);
    default: put_u32(packet + PACKET_HEAD, (uint32_t)roll(&m->d));
    }
    return length;
}

/* Packets that were no parts, or came again. */
static inline uint64_t model_idle(const model *m)
{
    const agg_counts *c = ti_aggregate_counts(m->a);
    uint64_t idle = c->retransmitted;
    for (unsigned r = 1; r < AGG_REASONS; r++) idle += c->dropped[r];
    return idle;
}

static inline bool model_is_over(model *m, uint32_t number)
{
    return m->sums_over[number % (2 * MODEL_SLOTS)] > number;
}

static inline void model_run(model *m, unsigned batches)
{
    uint8_t packet[2 * MODEL_LENGTH];
    for (unsigned b = 0; b < batches; b++) {
        for (unsigned i = 0; i < MODEL_BATCH; i++) {
            const unsigned worker = (unsigned)roll_below(&m->d, MODEL_WORKERS);
            size_t length = model_part(m, m->number, worker, packet);
            unsigned from = worker;
            if (roll_below(&m->d, 3) == 0) length = model_spoil(m, packet, length);
            if (roll_below(&m->d, 20) == 0) from = MODEL_WORKERS;
            if (packet[3] == KIND_JOIN || packet[3] == KIND_ASK || packet[3] == KIND_LEAVE) continue;
            const uint64_t idle = model_idle(m);
            model_send(m, from, packet, length);
            if (model_idle(m) == idle) model_note(m, packet, length);
            while (model_is_over(m, m->number)) m->number++;
        }
        for (unsigned w = 0; w < MODEL_WORKERS; w++) {
            packet_write(packet, &(packet_head){.kind = KIND_ASK, .job = model_job, .worker = (uint16_t)w});
            model_send(m, w, packet, PACKET_HEAD);
        }
        for (unsigned w = 0; w < MODEL_WORKERS; w++) model_compare(m, w);
    }
}

static inline void compare_with_model(const char *key, unsigned batches, uint64_t seed)
{
    static model m;
    served s;
    memset(&m, 0, sizeof m);
    m.d.state = seed;
    served_start(&s,
                 (tithe_switch_options){
                     .workers = MODEL_WORKERS, .datagram = MODEL_LENGTH, .slots = MODEL_SLOTS, .key = key});
    assert_int_equal(ti_seal_open(&m.seal, key, NULL), TITHE_OK);
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)atoi(strrchr(s.address, ':') + 1)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (unsigned w = 0; w <= MODEL_WORKERS; w++) {
        m.sockets[w] = socket(AF_INET, SOCK_DGRAM, 0);
        assert_true(m.sockets[w] >= 0 && connect(m.sockets[w], (const void *)&at, sizeof at) == 0);
    }
    model_join(&m);
    model_run(&m, batches);
    served_end(&s);
    const agg_counts *said = ti_aggregate_counts(m.a);
    assert_true(said->aggregated > batches);
    assert_int_equal(s.counts.aggregated, said->aggregated);
    assert_int_equal(s.counts.retransmitted, said->retransmitted);
    assert_int_equal(s.counts.packets, said->packets + MODEL_WORKERS); /* which joined twice */
    for (unsigned r = 1; r < AGG_REASONS; r++)
        expect(s.counts.reasons[r] == said->dropped[r], "%s: %llu, not %llu", tithe_switch_reason(r),
               (unsigned long long)s.counts.reasons[r], (unsigned long long)said->dropped[r]);
    for (unsigned w = 0; w <= MODEL_WORKERS; w++) close(m.sockets[w]);
    free(m.a);
    free(m.out);
}

#endif
