/* checkpoint_text.c - see checkpoint_text.h. */
#include "learn/checkpoint_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "comm/comm.h"
#include "exchange/exchange.h"
#include "tithe/tithe.h"

/* ---- the description ------------------------------------------------------------------------------------- */

uint32_t ti_checkpoint_parts(const run *r)
{
    const char *kind = r->o->average; /* which is made last */
    const bool averages = kind && strcmp(kind, "none") != 0, tail = averages && strcmp(kind, "tail") == 0;
    return (r->feedback->keeps ? PART_KEPT : 0u) | (r->feedback->aggregates ? PART_AGGREGATE : 0u) |
           (tithe_exchange_server_kept(r->exchange) ? PART_SERVER : 0u) |
           (r->estimate.anchor ? PART_ANCHOR : 0u) | (averages ? PART_MEAN : 0u) | (tail ? PART_BEFORE : 0u) |
           (r->clients ? PART_CLIENTS : 0u) | (r->momentum ? PART_MOMENTUM : 0u);
}

/* A line of the description; what a terminal or a reader would stumble over becomes a blank. */
__attribute__((format(printf, 3, 4))) static void add_line(char *text, const char *key, const char *format,
                                                           ...)
{
    enum { LONGEST_LINE = 1200 };
    const size_t used = strlen(text), room = CHECKPOINT_TEXT - used; /* and one more for the end */
    char value[LONGEST_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    for (char *c = value; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127) *c = ' ';
    if (strlen(key) + strlen(value) + 3 <= room) snprintf(text + used, room + 1, "%s: %s\n", key, value);
}

/* Everything that decides what the next step does. What a user may change on the way is left out: where it ends, threads,
 * transport, step size and collective. */
static void write_text(const run *r, char *text)
{
    static const char *const splits[] = {"shuffled", "contiguous", "sorted"};
    const tithe_train_options *o = r->o;
    const bool batches = r->estimator == &ti_estimator_minibatch;
    text[0] = 0;
    add_line(text, "data", "%s", r->share->name);
    add_line(text, "model", "%s", r->problem.spec);
    add_line(text, "l2", "%.17g", r->problem.l2);
    add_line(text, "split", "%s", splits[o->split]);
    add_line(text, "estimator", "%s", r->estimator->name);
    add_line(text, "sampling", "%s", or_else(o->sampling, "uniform"));
    add_line(text, "batch", "%zu", batches ? r->estimate.batch : (size_t)1);
    add_line(text, "local steps", "%u", o->local_steps);
    add_line(text, "momentum", "%.17g", o->momentum);
    add_line(text, "average", "%s", or_else(o->average, "none"));
    add_line(text, "clients", "%u", r->clients ? o->clients : o->workers);
    add_line(text, "codec", "%s", tithe_codec_spec(r->codec));
    add_line(text, "downlink", "%s", r->downlink ? tithe_codec_spec(r->downlink) : "all|raw");
    add_line(text, "feedback", "%s", r->feedback->name);
    add_line(text, "downlink feedback", "%s", r->downlink_feedback->name);
    add_line(text, "scheme", "%s", r->exchange->scheme->name);
    add_line(text, "leader", "%s", or_else(o->leader, "round-robin"));
    add_line(text, "bucket", "%zu", o->bucket_bytes);
    add_line(text, "tuner", "%s", r->tuner ? r->tuner->name : "fixed");
    add_line(text, "level", "%s", o->shared_level ? "shared" : "local");
    add_line(text, "cost", "%s", or_else(o->cost, "bits"));
    add_line(text, "count", "%s", o->count_paper ? "paper" : "frame");
}

void ti_checkpoint_describe(const run *r, checkpoint_head *head)
{
    *head = (checkpoint_head){.step = r->step,
                              .n = r->size,
                              .seed = r->o->seed,
                              .data = r->share->hash,
                              .workers = r->comm->size,
                              .parts = ti_checkpoint_parts(r),
                              .epochs = r->epochs,
                              .seconds = clock_now() - r->started,
                              .average_ratio = r->average.ratio,
                              .average_count = r->average.count,
                              .average_earlier = r->average.earlier,
                              .average_steps = r->average.steps,
                              .learned = tithe_exchange_learned(r->exchange, NULL)};
    write_text(r, head->text);
}

static tithe_status differs(const char *path, const char *what, const char *theirs, const char *mine,
                            tithe_error *error)
{
    return ti_fail(error, TITHE_E_MISMATCH, 0, "'%.60s' is of another run: %s is %.*s there, and %.*s here.",
                   path, what, (int)(strcspn(theirs, "\n") < 50 ? strcspn(theirs, "\n") : 50), theirs,
                   (int)(strcspn(mine, "\n") < 50 ? strcspn(mine, "\n") : 50), mine);
}

static tithe_status compare_number(const char *path, const char *what, const char *format, uint64_t theirs,
                                   uint64_t mine, tithe_error *error)
{
    char a[32], b[32];
    if (theirs == mine) return TITHE_OK;
    const bool hex = *format == 'x';
    snprintf(a, sizeof a, hex ? "%016llx" : "%llu", (unsigned long long)theirs);
    snprintf(b, sizeof b, hex ? "%016llx" : "%llu", (unsigned long long)mine);
    return differs(path, what, a, b, error);
}

/* Line by line: the first that differs is named. */
static tithe_status compare_text(const char *path, const char *theirs, const char *mine, tithe_error *error)
{
    char key[40];
    while (*theirs && *mine) {
        const size_t a = strcspn(theirs, "\n"), b = strcspn(mine, "\n"), colon = strcspn(mine, ":");
        if (a != b || strncmp(theirs, mine, a) != 0) {
            snprintf(key, sizeof key, "%.*s", (int)colon, mine);
            const bool same_key = strncmp(theirs, mine, colon + 2) == 0;
            if (!same_key) break;
            if (strcmp(key, "data") != 0)
                return differs(path, key, theirs + colon + 2, mine + colon + 2, error);
        } /* a set may be called otherwise: its hash was compared */
        theirs += a + (theirs[a] == '\n');
        mine += b + (mine[b] == '\n');
    }
    if (!*theirs && !*mine) return TITHE_OK;
    return ti_fail(error, TITHE_E_MISMATCH, 0, "'%.100s' is of another run: it is described in other words.",
                   path);
}

tithe_status ti_checkpoint_compare(const run *r, const checkpoint_head *theirs, tithe_error *error)
{
    checkpoint_head mine;
    const char *path = r->o->resume;
    ti_checkpoint_describe(r, &mine);
    tithe_status status =
        compare_number(path, "the number of workers", "", theirs->workers, mine.workers, error);
    if (!status) status = compare_number(path, "the seed", "", theirs->seed, mine.seed, error);
    if (!status && theirs->data != mine.data &&
        strncmp(theirs->text, mine.text, strcspn(mine.text, "\n") + 1) != 0)
        status = differs(path, "the data", theirs->text + 6, mine.text + 6, error);
    if (!status) status = compare_number(path, "the hash of the data", "x", theirs->data, mine.data, error);
    if (!status) status = compare_text(path, theirs->text, mine.text, error);
    if (!status) status = compare_number(path, "the number of parameters", "", theirs->n, mine.n, error);
    if (!status)
        status = compare_number(path, "what the scheme learned", "", theirs->learned, mine.learned, error);
    if (!status) status = compare_number(path, "what is kept", "", theirs->parts, mine.parts, error);
    return status;
}

/* ---- the accounts ---------------------------------------------------------------------------------------- */

tithe_status ti_checkpoint_account(run *r, double *accounts, tithe_error *error)
{
    const tithe_exchange_totals t = tithe_exchange_total(r->exchange);
    const tithe_exchange_record e = tithe_exchange_last(r->exchange);
    double sent;
    const tithe_status status = ti_comm_sent(r->comm, &sent, error);
    if (status) return status;
    const double first[ACCOUNT_NUMBERS] = {
        [ACCOUNT_SENT] = sent + r->sent_before,
        [ACCOUNT_UPLINK] = t.uplink_bytes,
        [ACCOUNT_DOWNLINK] = t.downlink_bytes,
        [ACCOUNT_EXCHANGED] = t.sent_bytes,
        [ACCOUNT_PAPER] = t.paper_bits,
        [ACCOUNT_COST] = t.cost,
        [ACCOUNT_DOWNLINK_COST] = t.downlink_cost,
        [ACCOUNT_ENCODE] = t.encode,
        [ACCOUNT_WAIT] = t.wait,
        [ACCOUNT_TRANSFER] = t.transfer,
        [ACCOUNT_DECODE] = t.decode,
        [ACCOUNT_COMPUTE] = r->compute,
        [ACCOUNT_OTHER] = r->other,
        [ACCOUNT_UNSENT] = t.unsent,
        [ACCOUNT_MEASURED] = r->measured,
        [ACCOUNT_LEVEL_SUM] = r->level_sum,
        [ACCOUNT_KEPT_SUM] = r->kept_sum,
        [ACCOUNT_SPEEDUP_SUM] = r->speedup_sum,
        [ACCOUNT_KEPT_LEAST] = r->kept_least,
        [ACCOUNT_SPEEDUP_LEAST] = r->speedup_least,
        [ACCOUNT_RESIDUAL_MOST] = r->residual_most,
        [ACCOUNT_STEP_RANKS] = e.ranks,
        [ACCOUNT_STEP_MEASURED] = e.measured,
        [ACCOUNT_STEP_LEVEL] = e.level,
        [ACCOUNT_STEP_LEVEL_LEAST] = e.level_least,
        [ACCOUNT_STEP_LEVEL_MOST] = e.level_most,
        [ACCOUNT_STEP_KEPT] = e.kept,
        [ACCOUNT_STEP_RESIDUAL] = e.residual,
        [ACCOUNT_OVERLAP] = t.overlap,
        [ACCOUNT_MESSAGES] = t.sent_messages,
    };
    memcpy(accounts, first, sizeof first);
    for (unsigned w = 1; w < r->comm->local; w++) {
        double *a = accounts + (size_t)w * ACCOUNT_NUMBERS;
        a[ACCOUNT_UNSENT] = t.unsent;
        a[ACCOUNT_KEPT_LEAST] = a[ACCOUNT_SPEEDUP_LEAST] = INFINITY;
    }
    return TITHE_OK;
}

/* Of the last step: means over the ranks that were put, added up with their weights. The first is taken as it is, so that
 * the account of one process comes back to the bit. */
static void take_step(tithe_exchange_record *e, const double *a)
{
    const double ranks = a[ACCOUNT_STEP_RANKS], measured = a[ACCOUNT_STEP_MEASURED];
    if (!(ranks >= 1 && ranks <= CHECKPOINT_MOST_WORKERS)) return;
    if (measured >= 1 && measured <= CHECKPOINT_MOST_WORKERS) {
        const double all = e->measured + measured;
        e->kept = e->measured ? (e->measured * e->kept + measured * a[ACCOUNT_STEP_KEPT]) / all
                              : a[ACCOUNT_STEP_KEPT];
        e->measured = (unsigned)all;
    }
    const double all = e->ranks + ranks;
    if (e->ranks) {
        e->level = (e->ranks * e->level + ranks * a[ACCOUNT_STEP_LEVEL]) / all;
        e->residual = (e->ranks * e->residual + ranks * a[ACCOUNT_STEP_RESIDUAL]) / all;
        e->level_least = fmin(e->level_least, a[ACCOUNT_STEP_LEVEL_LEAST]);
        e->level_most = fmax(e->level_most, a[ACCOUNT_STEP_LEVEL_MOST]);
    } else {
        e->level = a[ACCOUNT_STEP_LEVEL];
        e->residual = a[ACCOUNT_STEP_RESIDUAL];
        e->level_least = a[ACCOUNT_STEP_LEVEL_LEAST];
        e->level_most = a[ACCOUNT_STEP_LEVEL_MOST];
    }
    e->ranks = (unsigned)all;
}

void ti_checkpoint_take_account(run *r, const double *accounts)
{
    tithe_exchange_totals t = {.unsent = accounts[ACCOUNT_UNSENT]};
    tithe_exchange_record e = {.step = (unsigned long)(r->step ? r->step - 1 : 0)};
    r->kept_least = r->speedup_least = INFINITY;
    for (unsigned w = 0; w < r->comm->local; w++) {
        const double *a = accounts + (size_t)w * ACCOUNT_NUMBERS;
        r->sent_before += a[ACCOUNT_SENT];
        t.uplink_bytes += a[ACCOUNT_UPLINK];
        t.downlink_bytes += a[ACCOUNT_DOWNLINK];
        t.sent_bytes += a[ACCOUNT_EXCHANGED];
        t.paper_bits += a[ACCOUNT_PAPER];
        t.cost += a[ACCOUNT_COST];
        t.downlink_cost += a[ACCOUNT_DOWNLINK_COST];
        t.encode += a[ACCOUNT_ENCODE];
        t.wait += a[ACCOUNT_WAIT];
        t.transfer += a[ACCOUNT_TRANSFER];
        t.decode += a[ACCOUNT_DECODE];
        t.overlap += a[ACCOUNT_OVERLAP];
        t.sent_messages += a[ACCOUNT_MESSAGES];
        t.unsent += (a[ACCOUNT_UNSENT] - accounts[ACCOUNT_UNSENT]) /
                    r->comm->local; /* a mean, exact where all agree */
        r->compute += a[ACCOUNT_COMPUTE];
        r->other += a[ACCOUNT_OTHER];
        r->measured += a[ACCOUNT_MEASURED];
        r->level_sum += a[ACCOUNT_LEVEL_SUM];
        r->kept_sum += a[ACCOUNT_KEPT_SUM];
        r->speedup_sum += a[ACCOUNT_SPEEDUP_SUM];
        r->kept_least = fmin(r->kept_least, a[ACCOUNT_KEPT_LEAST]);
        r->speedup_least = fmin(r->speedup_least, a[ACCOUNT_SPEEDUP_LEAST]);
        r->residual_most = fmax(r->residual_most, a[ACCOUNT_RESIDUAL_MOST]);
        take_step(&e, a);
    }
    tithe_exchange_continue(r->exchange, (uint32_t)r->step, &t, &e);
}
