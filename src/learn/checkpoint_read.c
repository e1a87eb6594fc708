/* checkpoint_read.c - what a checkpoint says of its run, for those who want to know and not to go on. */
#include "base/bytes.h"
#include "base/sized.h"
#include "base/status.h"
#include "exchange/counters.h"
#include "learn/checkpoint_file.h"
#include "tithe/frame.h"
#include "tithe/learn.h"

#include <string.h>

static void add_account(tithe_exchange_totals *totals, const uint8_t *account, unsigned numbers)
{
    for (const tithe_counter *c = tithe_counters(); c->name; c++)
        if (c->place < numbers) *counter_in(totals, c) += get_f64(account + 8 * c->place);
}

tithe_status tithe_checkpoint_read(const char *name, const uint8_t *bytes, size_t length,
                                   tithe_checkpoint *checkpoint, tithe_error *error)
{
    checkpoint_head h;
    size_t used;
    if (!checkpoint || checkpoint->size < sizeof checkpoint->size)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A place with its size in `size` is needed.");
    const tithe_status status = ti_checkpoint_read_head(name, bytes, length, length, &h, &used, error);
    if (status) return status;
    if (get_u32(bytes + length - CHECKPOINT_TAIL) != tithe_crc32c(bytes, length - CHECKPOINT_TAIL))
        return ti_fail(error, TITHE_E_CORRUPT, 0, "'%.100s' is damaged: its checksum is wrong.", name);
    tithe_checkpoint c = {.size = sizeof c,
                          .step = h.step,
                          .n = h.n,
                          .seed = h.seed,
                          .data_hash = h.data,
                          .workers = h.workers,
                          .epochs = h.epochs,
                          .seconds = h.seconds,
                          .residual = h.parts & PART_RESIDUAL,
                          .aggregate = h.parts & PART_AGGREGATE,
                          .server_residual = h.parts & PART_SERVER,
                          .anchor = h.parts & PART_ANCHOR,
                          .averages = h.parts & PART_MEAN,
                          .clients = h.parts & PART_CLIENTS,
                          .momentum = h.parts & PART_MOMENTUM,
                          .lowest = h.parts & PART_LOWEST,
                          .moved = h.parts & PART_MOVED,
                          .learned = h.learned,
                          .shared_bytes = ti_checkpoint_shared_bytes(&h),
                          .worker_bytes = ti_checkpoint_worker_bytes(&h)};
    memcpy(c.text, h.text, sizeof h.text);
    const uint8_t *at = bytes + used + c.shared_bytes;
    double sent = 0; /* not by exchanges alone */
    for (unsigned w = 0; w < h.workers; w++, at += c.worker_bytes) {
        add_account(&c.totals, at, checkpoint_account(&h));
        sent += get_f64(at + 8 * ACCOUNT_SENT);
    }
    c.totals.sent_bytes = sent;
    c.totals.size = sizeof c.totals;
    if (checkpoint->size < sizeof c) /* an older header's end there */
        c.totals.size -= sizeof c - checkpoint->size;
    sized_copy(checkpoint, &c);
    return TITHE_OK;
}

bool tithe_checkpoint_is(const uint8_t *bytes, size_t length)
{
    return length >= 8 && memcmp(bytes, "TITHECKP", 8) == 0;
}
