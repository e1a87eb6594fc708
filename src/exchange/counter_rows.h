/* counter_rows.h - what an exchange counts, as rows for everybody who has to have all of it: the table (counters.c), a record of a
 * run (learn/run_totals.c), its columns (report/columns.c). No guard: it is included where COUNTER says what to make of a row.
 *
 * A new counter is a row here, and a field of tithe_exchange_totals and of tithe_trace_record; then only report/columns.c has to
 * be told between which columns it stands. Exchanges of several buckets, sums over processes, checkpoints, JSON and inspections
 * walk the table.
 *
 * The rows: name, as traces and JSON have it; field of the totals; unit; what it is; flags; place in the account of a checkpoint.
 * A new one takes the next place that is free: accounts grow, and the file has a new version (docs/checkpoint.md). */
/* clang-format off */
COUNTER(uplink_bytes, uplink_bytes, "B", "frames of the workers so far, each counted once", PAID, 1)
COUNTER(downlink_bytes, downlink_bytes, "B", "what the workers received so far in order to know the updates", PAID, 2)
COUNTER(sent_bytes, sent_bytes, "B", "all that left any process so far", PAID, 3)
COUNTER(paper_bits, paper_bits, "bit", "what the papers' formulas would have counted so far", PAID, 4)
COUNTER(cost, cost, "", "cost model over the uplink frames so far", PAID, 5)
COUNTER(downlink_cost, downlink_cost, "", "cost model over the way back so far", PAID, 6)
COUNTER(messages, sent_messages, "", "messages of the exchange so far, of processes with workers", ALL, 29)
COUNTER(unsent, unsent, "", "sum over the steps so far of the mean of |not sent|^2", ALL, 13)
COUNTER(skipped, skipped, "", "steps skipped so far, because a gradient could not be sent; where rank 0 is", 0, 30)
COUNTER(encode, encode, "s", "of these, in selecting and encoding", 0, 7)
COUNTER(wait, wait, "s", "of these, waiting for others", 0, 8)
COUNTER(transfer, transfer, "s", "of these, moving frames", 0, 9)
COUNTER(decode, decode, "s", "of these, decoding and adding", 0, 10)
COUNTER(overlap, overlap, "s", "sending that ran beside the encoding of the next bucket", 0, 28)
/* clang-format on */
