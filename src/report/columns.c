/* columns.c - the columns of a trace, in the order of the file. One line here is all that a new one needs. */
#include "tithe/trace.h"

#include "exchange/counters.h"

/* In the words of the counters, which are arrays so that the table below may point to them. */
#define COUNTER(name, field, unit, doc, ...) {unit, doc},
static const struct {
    char unit[8], doc[80];
} words[] = {
#include "exchange/counter_rows.h"
};
#undef COUNTER

#define NUMBER(field, unit, doc)                                                    \
    {                                                                               \
#field, unit, doc, offsetof(tithe_trace_record, field), TITHE_COLUMN_NUMBER \
    }
#define COUNTED(field) NUMBER(field, words[COUNTER_##field].unit, words[COUNTER_##field].doc)
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
    COUNTED(uplink_bytes),
    COUNTED(downlink_bytes),
    COUNTED(sent_bytes),
    COUNTED(paper_bits),
    COUNTED(cost),
    COUNTED(downlink_cost),
    NUMBER(level, "entries", "entries that a worker sent in this step: mean"),
    NUMBER(level_least, "entries", "the fewest that one sent"),
    NUMBER(level_most, "entries", "the most that one sent"),
    NUMBER(kept, "", "energy kept in this step: the squared cosine of what was sent"),
    NUMBER(residual, "", "mean over the workers of |e|^2 after this step"),
    COUNTED(unsent),
    NUMBER(seconds, "s", "of training so far, without set-up and records"),
    NUMBER(compute, "s", "of these, in gradients and updates"),
    COUNTED(encode),
    COUNTED(wait),
    COUNTED(transfer),
    COUNTED(decode),
    NUMBER(other, "s", "of these, in none of the phases"),
    NUMBER(record, "s", "besides, in evaluating losses and writing down what happened"),
    NUMBER(setup_bytes, "B", "of sent_bytes, those before the first step"),
    NUMBER(setup_seconds, "s", "before the first step: data, handshake, constants, minimum"),
    NUMBER(latency, "s", "of the link, one way, as the messages so far say"),
    NUMBER(bandwidth, "B/s", "of the link, as the messages so far say"),
    COUNTED(overlap),
    COUNTED(messages),
    COUNTED(skipped),
    NUMBER(leader, "", "rank whose indices all workers took in this step"),
    TEXT(scheme, "who sent what to whom"),
    TEXT(collective, "over which pattern"),
    TEXT(reason, "why this level, scheme and collective"),
    TEXT(setting, "options that all steps from here on are made with, where a tuner changes them"),
    {.name = NULL},
};

const tithe_column *tithe_columns(void)
{
    return columns;
}
