/* turns.c - see turns.h.
 *
 * The rows take turns, so that whatever the machine does besides hits all of them, and a ratio is taken inside a round
 * and not between two moments far apart. What the caches hold when the clock starts does not depend on which row came
 * before: a short vector was just used by an untimed call, and ahead of a long one the caches are filled with
 * something else. */
#include "bench/turns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/median.h"
#include "bench/exact.h"
#include "bench/gates.h"
#include "tithe/pool.h"

/* From memory a quiet machine reads this much faster than it copies: less than 1.5 times where memcpy goes around the
 * caches, and about twice where it finds the vector too short for that and so reads what it is going to overwrite. Where a
 * neighbour takes his share of the memory, the two no longer go together. */
#define MIN_READ_TO_COPY 1.1
#define MAX_READ_TO_COPY 2.3
enum { ATTEMPTS = 3 /* to time a call without another program on the same core */ };
#define MAX_INTERRUPTED 0.1

static double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How many calls of `job` fit into one of `other`: the median over the rounds. */
static double ratio(const bench_job *other, const bench_job *job, unsigned rounds, double *room)
{
    for (unsigned r = 0; r < rounds; r++) room[r] = other->seconds[r] / job->seconds[r];
    return median(room, rounds);
}

/* ---- one call ----------------------------------------------------------------------------------------- */

static tithe_status run_once(bench_job *job, tithe_error *error)
{
    if (job->row->kind->before) job->row->kind->before(job);
    return job->row->kind->run(job, error);
}

/* One byte of every line is changed, so that the lines are there, and have to go back to memory before others come. */
static void fill_caches(const bench_filler *filler)
{
    enum { LINE = 64 };
    for (size_t i = 0; i < filler->size; i += LINE) filler->bytes[i]++;
}

/* Did another program run on this core for some of the time? */
static bool was_interrupted(double seconds, double cpu_seconds)
{
    return seconds - cpu_seconds > 0.02 * seconds + 20e-6;
}

static tithe_status time_once(bench_job *job, const bench_filler *filler, double *seconds, bool *interrupted,
                              tithe_error *error)
{
    tithe_status status = filler ? TITHE_OK : run_once(job, error);
    if (status) return status;
    if (job->row->kind->before) job->row->kind->before(job);
    if (filler) fill_caches(filler);
    const double cpu = clock_seconds(CLOCK_THREAD_CPUTIME_ID), start = clock_seconds(CLOCK_MONOTONIC);
    status = job->row->kind->run(job, error);
    const double passed = clock_seconds(CLOCK_MONOTONIC) - start,
                 used = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    /* One thread never waits, so what it used is what the call takes; threads of a pool are waited for, and nothing
     * can be said of them. */
    const bool alone = tithe_pool_threads(job->call.pool) == 1;
    *interrupted = alone && was_interrupted(passed, used);
    *seconds = alone ? used : passed;
    return status;
}

/* ---- the jobs of a group ------------------------------------------------------------------------------ */

typedef struct job_list {
    bench_job jobs[BENCH_MAX_ROWS * BENCH_MAX_THREADS];
    size_t count;
    double *room;       /* for the ratios of all rounds */
    size_t interrupted; /* timed calls during which something else ran, whatever was tried */
} job_list;

static bench_job *job_alone(job_list *list, const bench_row *row)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->jobs[i].row == row && tithe_pool_threads(list->jobs[i].call.pool) == 1)
            return &list->jobs[i];
    return NULL;
}

/* What runs on one thread anyway is measured on one only. */
static tithe_status open_all(const bench_group *group, job_list *list, tithe_error *error)
{
    list->room = calloc(group->rounds, sizeof *list->room);
    if (!list->room) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the times.");
    tithe_status status = TITHE_OK;
    for (size_t c = 0; c < group->call_count && !status; c++) {
        const bench_job *references = &list->jobs[list->count];
        for (size_t r = 0; r < group->row_count && !status; r++) {
            if (group->rows[r]->single && tithe_pool_threads(group->calls[c].pool) > 1) continue;
            bench_job *job = &list->jobs[list->count++];
            status = ti_bench_job_open(group->rows[r], group->v, &group->calls[c], group->rounds, job, error);
            job->references = references;
            job->alone = job_alone(list, group->rows[r]);
        }
    }
    return status;
}

static void close_all(job_list *list)
{
    for (size_t i = 0; i < list->count; i++) ti_bench_job_close(&list->jobs[i]);
    free(list->room);
    free(list);
}

static tithe_status check_all(job_list *list, const bench_group *group, tithe_bench_summary *summary,
                              tithe_error *error)
{
    for (size_t i = 0; i < list->count; i++) {
        bench_job *job = &list->jobs[i];
        const tithe_status status = run_once(job, error);
        if (status) return status;
        const char *wrong = job->row->kind->wrong(job);
        if (!wrong) continue;
        summary->wrong = true;
        snprintf(summary->why, sizeof summary->why, "%s on %zu numbers (%s, %s, %u threads): %s",
                 job->row->name, group->v->n, group->v->data, group->isa, tithe_pool_threads(job->call.pool),
                 wrong);
        return TITHE_OK;
    }
    return TITHE_OK;
}

static tithe_status time_all(job_list *list, const bench_group *group, const tithe_bench_options *options,
                             void *context, tithe_error *error)
{
    char what[80];
    snprintf(what, sizeof what, "%zu numbers, %s, %s", group->v->n, group->v->data, group->isa);
    for (unsigned round = 0; round < group->rounds; round++)
        for (size_t i = 0; i < list->count; i++) {
            const double done = (double)(round * list->count + i) / (double)(group->rounds * list->count);
            if (options->progress) options->progress(context, what, done);
            bench_job *job = &list->jobs[i];
            bool interrupted = true;
            for (int attempt = 0; attempt < ATTEMPTS && interrupted; attempt++) {
                const tithe_status status =
                    time_once(job, group->filler, &job->seconds[round], &interrupted, error);
                if (status) return status;
            }
            list->interrupted += interrupted;
        }
    return TITHE_OK;
}

/* ---- rows --------------------------------------------------------------------------------------------- */

static void add_sizes(const bench_job *job, tithe_bench_row *row)
{
    if (job->info.bytes) row->bytes = (double)job->info.bytes;
    if (job->info.index_bits == 0 || job->info.entries == 0) return;
    row->indices = (double)job->info.entries;
    row->bits_per_index = (double)job->info.index_bits / row->indices;
    row->entropy_bits = ti_bench_entropy(job->v->n, job->info.entries);
}

/* The bits that a frame saves, over the seconds that it costs at both ends. */
static double break_even(const bench_job *job, const tithe_bench_row *row, double encode_seconds)
{
    if (!job->row->kind->closes) return NAN;
    return (32 * (double)row->n - 8 * row->bytes) / (encode_seconds + row->seconds);
}

static void judge_machine(const tithe_bench_row *read, tithe_bench_summary *summary)
{
    if (summary->disturbed || (read->xM >= MIN_READ_TO_COPY && read->xM <= MAX_READ_TO_COPY)) return;
    summary->disturbed = true;
    snprintf(summary->reason, sizeof summary->reason,
             "On %zu numbers (%s) a read was %.2f times as fast as memcpy; on a quiet machine that is %.1f "
             "to %.1f: "
             "something else uses the memory, so mistrust the ratios and run it again.",
             read->n, read->data, read->xM, MIN_READ_TO_COPY, MAX_READ_TO_COPY);
}

static void judge_core(const job_list *list, const bench_group *group, tithe_bench_summary *summary)
{
    const double share = (double)list->interrupted / (double)(list->count * group->rounds);
    if (summary->disturbed || share <= MAX_INTERRUPTED) return;
    summary->disturbed = true;
    snprintf(summary->reason, sizeof summary->reason,
             "On %zu numbers (%s) other programs ran on this core during %.0f %% of the calls: run it again "
             "when they "
             "are done.",
             group->v->n, group->v->data, 100 * share);
}

static void report_all(const job_list *list, const bench_group *group, tithe_bench_report report,
                       void *context, tithe_bench_summary *summary, bool *stopped)
{
    const unsigned rounds = group->rounds;
    const bench_job *bf16 = NULL;
    double before = NAN; /* seconds of the row before this one */
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->jobs[i].row->name, "bf16.encode") == 0) bf16 = &list->jobs[i];
    for (size_t i = 0; i < list->count && !*stopped; i++) {
        const bench_job *job = &list->jobs[i], *read = &job->references[BENCH_READ];
        tithe_bench_row row = {
            .name = job->row->name,
            .n = group->v->n,
            .data = group->v->data,
            .isa = group->isa,
            .threads = tithe_pool_threads(job->call.pool),
            .bits_per_index = NAN,
            .entropy_bits = NAN,
            .indices = NAN,
            .bytes = NAN,
        };
        memcpy(list->room, job->seconds, rounds * sizeof *list->room);
        row.seconds = median(list->room, rounds);
        row.fastest = list->room[0]; /* sorted by now */
        row.xM = ratio(&job->references[BENCH_MEMCPY], job, rounds, list->room);
        row.xR = ratio(read, job, rounds, list->room);
        add_sizes(job, &row);
        row.break_even = break_even(job, &row, before);
        before = row.seconds;
        const bench_context c = {
            .hard_input = ti_bench_data_is_hard(group->v->data),
            .over_bf16 = bf16 ? ratio(bf16, job, rounds, list->room) : NAN,
            .over_alone = job->alone ? ratio(job->alone, job, rounds, list->room) : NAN,
            .read_alone = read->alone ? ratio(read->alone, read, rounds, list->room) : NAN,
        };
        ti_bench_gate(&row, &c);
        if (job == read && group->filler && row.threads == 1) judge_machine(&row, summary);
        *stopped = !report(context, &row);
    }
}

tithe_status ti_bench_group_run(const bench_group *group, const tithe_bench_options *options,
                                tithe_bench_report report, void *context, tithe_bench_summary *summary,
                                bool *stopped, tithe_error *error)
{
    job_list *list = calloc(1, sizeof *list);
    if (!list) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the rows.");
    tithe_status status = open_all(group, list, error);
    if (!status) status = check_all(list, group, summary, error);
    if (!status && !summary->wrong) status = time_all(list, group, options, context, error);
    if (!status && !summary->wrong) judge_core(list, group, summary);
    if (!status && !summary->wrong) report_all(list, group, report, context, summary, stopped);
    close_all(list);
    return status;
}
