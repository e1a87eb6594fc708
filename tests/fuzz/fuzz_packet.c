/* fuzz_packet.c - any bytes as packets that come to a switch, from its workers and from strangers.
 *
 * A run of packets: two bytes say how long one is and from whom, then come its bytes. Mark, version and job are set right in every
 * other one, since a fuzzer hardly finds them. */
#include "aggregate/aggregate.h"
#include "aggregate/codes.h"
#include "fuzz.h"

enum { WORKERS = 2, SLOTS = 2, VALUES = 16, LONGEST = PACKET_HEAD + 4 * VALUES + 3 };

static const agg_shape shape = {
    .workers = WORKERS, .slots = SLOTS, .values = VALUES, .jobs = 2, .datagram = 1472, .lease = 60};

static agg_address address_of(uint64_t from)
{
    return (agg_address){{from, 0, 0}};
}

static void join_all(aggregate *a, uint8_t *out)
{
    uint8_t packet[PACKET_HEAD + PACKET_JOIN] = {0};
    for (unsigned w = 0; w < WORKERS; w++) {
        const agg_address from = address_of(w);
        packet_write(packet, &(packet_head){.kind = KIND_JOIN, .job = 1, .worker = (uint16_t)w});
        put_u16(packet + PACKET_HEAD, WORKERS);
        put_u32(packet + PACKET_HEAD + 4, 1472);
        insist(ti_aggregate(a, &from, 0, packet, sizeof packet, out).length, "worker %u may not join", w);
    }
}

/* Behind its head, an answer holds what its kind has. */
static void check_answer(const agg_answer *answer, const uint8_t *out)
{
    if (!answer->length) return;
    insist(answer->length >= PACKET_HEAD && packet_is_marked(out) && packet_is_version(out), "no packet");
    const packet_head h = packet_read(out);
    const size_t body = answer->length - PACKET_HEAD;
    insist(h.kind == KIND_JOINED    ? body == PACKET_JOINED
           : h.kind == KIND_REFUSED ? body == PACKET_REFUSED && answer->reason != AGG_FINE
           : h.kind == KIND_SUM     ? body == packet_bytes(h.values, h.down) && answer->place < shape.jobs
                                    : false,
           "kind %d with %zu bytes", h.kind, body);
    for (unsigned i = 0; h.kind == KIND_SUM && h.operation == OPERATION_NATURAL && i < h.values; i++)
        insist((out[PACKET_HEAD + i] & 127) <= NATURAL_TOP + 1, "a sum of %d", out[PACKET_HEAD + i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t memory[(1 << 16) / 8];
    insist(ti_aggregate_size(&shape) <= sizeof memory, "more memory is needed");
    memset(memory, 0, sizeof memory);
    aggregate *a = ti_aggregate_start(memory, &shape);
    const size_t room = ti_aggregate_room(&shape);
    uint8_t *out = fuzz_alloc(room);
    join_all(a, out);
    uint64_t given = WORKERS, dropped = 0;
    while (size >= 2) {
        const uint8_t how = data[1];
        size_t length = data[0] % (LONGEST + 1);
        if (length > size - 2) length = size - 2;
        uint8_t *packet = fuzz_alloc(length); /* of exactly this size */
        if (length) memcpy(packet, data + 2, length);
        if (length >= PACKET_HEAD && how & 4) {
            put_u16(packet, PACKET_MARK);
            packet[2] = PACKET_VERSION;
            put_u64(packet + 4, 1);
            packet[14] = 0;
            put_u16(packet + 12, how & 1);
        }
        const agg_address from = address_of(how & 3);
        const agg_answer answer = ti_aggregate(a, &from, how >> 3, packet, length, out);
        insist(answer.length <= room && answer.reason < AGG_REASONS, "an answer of %u bytes", answer.length);
        check_answer(&answer, out);
        given++;
        dropped += answer.reason != AGG_FINE;
        free(packet);
        data += 2 + length;
        size -= 2 + length;
    }
    uint64_t counted = 0;
    for (agg_reason r = AGG_SHORT; r < AGG_REASONS; r++) counted += ti_aggregate_counts(a)->dropped[r];
    insist(ti_aggregate_counts(a)->packets == given && counted == dropped, "packets were lost count of");
    free(out);
    return 0;
}
