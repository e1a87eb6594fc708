/* columns.c - the columns of a trace, in the order of the file. One line here is all that a new one needs. */
#include "tithe/trace.h"

#define NUMBER(field, unit, doc)                                                    \
    {                                                                               \
#field, unit, doc, offsetof(tithe_trace_record, field), TITHE_COLUMN_NUMBER \
    }
#define TEXT(field, doc)                                                        \
    {                                                                           \
#field, "", doc, offsetof(tithe_trace_record, field), TITHE_COLUMN_TEXT \
    }

static const tithe_column columns[] = {
    NUMBER(step, "", "steps done"),
    NUMBER(epochs, "", "passes over the data"),
    NUMBER(loss, "", "full objective of the last iterate, penalty included"),
    NUMBER(gap, "", "loss minus the certified minimum"),
    NUMBER(accuracy, "", "share of the rows that are predicted right"),
    NUMBER(average_loss, "", "full objective of the averaged iterate"),
    NUMBER(average_gap, "", "the same minus the certified minimum"),
    NUMBER(bound, "", "what the theorem promises for the gap"),
    NUMBER(step_size, "", "gamma of this step"),
    NUMBER(uplink_bytes, "B", "frames of the workers so far, each counted once"),
    NUMBER(downlink_bytes, "B", "frames that came back to the workers so far"),
    NUMBER(sent_bytes, "B", "all that left any process so far"),
    NUMBER(paper_bits, "bit", "what the papers' formulas would have counted so far"),
    NUMBER(cost, "", "cost model over the uplink frames so far"),
    NUMBER(downlink_cost, "", "cost model over the way back so far"),
    NUMBER(level, "entries", "entries that a worker sent in this step: mean"),
    NUMBER(level_least, "entries", "the fewest that one sent"),
    NUMBER(level_most, "entries", "the most that one sent"),
    NUMBER(kept, "", "share of the energy that got through in this step"),
    NUMBER(residual, "", "mean over the workers of |e|^2 after this step"),
    NUMBER(unsent, "", "sum over the steps so far of the mean of |not sent|^2"),
    NUMBER(seconds, "s", "since the start"),
    NUMBER(compute, "s", "of these, in gradients"),
    NUMBER(encode, "s", "of these, in selecting and encoding"),
    NUMBER(wait, "s", "of these, waiting for others"),
    NUMBER(transfer, "s", "of these, moving frames"),
    NUMBER(decode, "s", "of these, decoding and adding"),
    NUMBER(other, "s", "of these, in the update and in evaluating the loss"),
    NUMBER(latency, "s", "of the link, one way, as the messages so far say"),
    NUMBER(bandwidth, "B/s", "of the link, as the messages so far say"),
    NUMBER(overlap, "s", "of waiting, moving and decoding, what passed while the next bucket was encoded"),
    NUMBER(messages, "", "messages with gradients so far"),
    TEXT(scheme, "who sent what to whom"),
    TEXT(collective, "over which pattern"),
    TEXT(reason, "why this level, scheme and collective"),
    {.name = NULL},
};

const tithe_column *tithe_columns(void)
{
    return columns;
}
