/* bench.c - which vectors, which rows, which kernels, how often. */
#include "tithe/bench.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/turns.h"
#include "kernels/kernels.h"
#include "tithe/pool.h"

enum {
    LONG = 1 << 24,    /* the shortest vector that has to come from memory */
    FILLER = 64 << 20, /* bytes that fill the caches, where nobody says how large those are */
    LONGEST_FILLER = 1 << 30
};

/* What the options leave open. */
static const size_t kernel_sizes[] = {1 << 20, 1 << 24, 1 << 26}, codec_sizes[] = {1 << 20, 1 << 24},
                    tuner_sizes[] = {47236, 3231961, 1 << 24}; /* RCV1, URL, and one that no cache keeps */
static const unsigned one_and_two[] = {1, 2};

/* A run that is under way. */
typedef struct bench_run {
    tithe_bench_options options; /* with every default filled in */
    bool hard_everywhere;        /* sizes were asked for, so hard inputs have them too */
    tithe_bench_report report;
    void *context;
    tithe_bench_summary *summary;
    tithe_error *error;
    tithe_call calls[BENCH_MAX_THREADS]; /* one for each number of threads */
    bench_filler filler;
    bool stopped;
    size_t groups;
} bench_run;

static void find_cpu(char *name, size_t size)
{
    snprintf(name, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[512];
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        snprintf(name, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    fclose(file);
}

static void fill_defaults(bench_run *run)
{
    tithe_bench_options *o = &run->options;
    run->hard_everywhere = o->size_count > 0 || o->data_count > 0;
    if (o->size_count == 0) {
        static const struct {
            const size_t *sizes;
            size_t count;
        } defaults[] = {
            [TITHE_BENCH_KERNELS] = {kernel_sizes, sizeof kernel_sizes / sizeof *kernel_sizes},
            [TITHE_BENCH_CODECS] = {codec_sizes, sizeof codec_sizes / sizeof *codec_sizes},
            [TITHE_BENCH_EXCHANGE] = {codec_sizes, sizeof codec_sizes / sizeof *codec_sizes},
            [TITHE_BENCH_TUNER] = {tuner_sizes, sizeof tuner_sizes / sizeof *tuner_sizes},
        };
        o->sizes = defaults[o->suite].sizes;
        o->size_count = defaults[o->suite].count;
    }
    if (o->data_count == 0) {
        o->data = tithe_bench_data();
        while (o->data[o->data_count]) o->data_count++;
    }
    if (o->thread_count == 0) {
        o->threads = one_and_two;
        o->thread_count = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1;
    }
}

/* ---- what can be asked for ---------------------------------------------------------------------------- */

static bool table_is_wanted(const bench_run *run, const kernels *table)
{
    const char *isa = run->options.isa;
    if (!isa) return table == ti_kernels();
    return table->runs_here() && (strcmp(isa, "all") == 0 || strcmp(isa, table->name) == 0);
}

static tithe_status expect_sense(const bench_run *run)
{
    const tithe_bench_options *o = &run->options;
    if (o->thread_count > BENCH_MAX_THREADS)
        return ti_fail(run->error, TITHE_E_ARGUMENT, 0, "At most %d numbers of threads fit into one run.",
                       BENCH_MAX_THREADS);
    for (size_t i = 0; i < o->size_count; i++)
        if (o->sizes[i] < 128 || o->sizes[i] > TITHE_MAX_N)
            return ti_fail(run->error, TITHE_E_ARGUMENT, i,
                           "A vector of %zu numbers cannot be measured: take 128 to %u.", o->sizes[i],
                           TITHE_MAX_N);
    for (size_t i = 0; i < o->data_count; i++)
        if (!ti_bench_data_exists(o->data[i]))
            return ti_fail(
                run->error, TITHE_E_ARGUMENT, i,
                "There is no data \"%.40s\"; there are gaussian, lognormal, ties, zeros, sorted, narrow and "
                "sample-defeating.",
                o->data[i]);
    char names[80] = "";
    bool found = false;
    for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
        found |= table_is_wanted(run, *t);
        const size_t used = strlen(names);
        if ((*t)->runs_here())
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", (*t)->name);
    }
    if (found) return TITHE_OK;
    return ti_fail(run->error, TITHE_E_ARGUMENT, 0, "No kernels \"%.40s\" run here; take all, or one of %s.",
                   o->isa, names);
}

/* ---- groups ------------------------------------------------------------------------------------------- */

static unsigned rounds_for(const bench_run *run, size_t n)
{
    if (run->options.rounds) return run->options.rounds;
    return n > LONG ? 5 : 9;
}

static bool row_is_wanted(const bench_run *run, const bench_row *row, const bench_vectors *v)
{
    if (row->longest && v->n > row->longest) return false;
    if (ti_bench_data_is_hard(v->data) && strcmp(row->name, "topk.select@0.01") != 0) return false;
    if (!run->options.rows) return true;
    char pattern[160];
    snprintf(pattern, sizeof pattern, "*%.150s*", run->options.rows);
    return fnmatch(pattern, row->name, 0) == 0;
}

/* The references are always measured: the ratios need them. Without any other row the vector is left out, unless the
 * pattern asks for a reference. */
static size_t choose_rows(const bench_run *run, const bench_vectors *v, const bench_row **rows)
{
    static const bench_row *const tables[] = {ti_bench_kernel_rows, ti_bench_codec_rows, ti_bench_tuner_rows,
                                              ti_bench_exchange_rows};
    const bench_row *table = tables[run->options.suite];
    size_t count = 0;
    bool wanted = false;
    for (size_t i = 0; table[i].name && count < BENCH_MAX_ROWS; i++) {
        const bool mine = row_is_wanted(run, &table[i], v);
        wanted |= mine;
        if (mine || i < BENCH_REFERENCES) rows[count++] = &table[i];
    }
    return wanted ? count : 0;
}

static tithe_status run_vector(bench_run *run, const char *data, size_t n)
{
    const bool hard = ti_bench_data_is_hard(data);
    if (hard && (run->options.suite != TITHE_BENCH_KERNELS || (!run->hard_everywhere && n != LONG)))
        return TITHE_OK;
    const bench_row *rows[BENCH_MAX_ROWS];
    bench_vectors v = {.data = data, .n = n};
    const size_t count = choose_rows(run, &v, rows);
    if (count == 0) return TITHE_OK;

    tithe_status status = ti_bench_vectors_make(data, n, run->calls, &v, run->error);
    for (const kernels *const *t = ti_kernel_tables(); *t && !status; t++) {
        if (!table_is_wanted(run, *t) || run->stopped || run->summary->wrong) continue;
        const bench_group group = {
            .rows = rows,
            .row_count = count,
            .v = &v,
            .isa = (*t)->name,
            .calls = run->calls,
            .call_count = run->options.thread_count,
            .rounds = rounds_for(run, n),
            .filler = n >= LONG ? &run->filler : NULL,
        };
        const kernels *used = ti_kernels_force(*t);
        status = ti_bench_group_run(&group, &run->options, run->report, run->context, run->summary,
                                    &run->stopped, run->error);
        ti_kernels_force(used);
        run->groups++;
    }
    ti_bench_vectors_free(&v);
    return status;
}

/* One thread needs no pool; the others keep theirs for the whole run. */
static tithe_status open_calls(bench_run *run)
{
    tithe_status status = TITHE_OK;
    for (size_t i = 0; i < run->options.thread_count && !status; i++) {
        run->calls[i] = (tithe_call){.seed = 1};
        if (run->options.threads[i] > 1)
            status = tithe_pool_create(run->options.threads[i], &run->calls[i].pool, run->error);
    }
    return status;
}

/* A quarter more than the last-level cache holds. */
static tithe_status open_filler(bench_run *run)
{
    size_t size = FILLER;
#ifdef _SC_LEVEL3_CACHE_SIZE
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (cache > 0 && (size_t)cache + (size_t)cache / 4 > size) size = (size_t)cache + (size_t)cache / 4;
#endif
    if (size > LONGEST_FILLER) size = LONGEST_FILLER;
    run->filler = (bench_filler){calloc(size, 1), size};
    return run->filler.bytes
               ? TITHE_OK
               : ti_fail(run->error, TITHE_E_MEMORY, 0, "There is not enough memory to fill the caches.");
}

static tithe_status run_all(bench_run *run)
{
    tithe_status status = TITHE_OK;
    for (size_t i = 0; i < run->options.size_count && !status; i++)
        for (size_t j = 0; j < run->options.data_count && !status && !run->stopped && !run->summary->wrong;
             j++)
            status = run_vector(run, run->options.data[j], run->options.sizes[i]);
    if (!status && run->groups == 0)
        status = ti_fail(run->error, TITHE_E_ARGUMENT, 0, "No row matches \"%.60s\" on this data.",
                         run->options.rows ? run->options.rows : "*");
    return status;
}

tithe_status tithe_bench_run(const tithe_bench_options *options, tithe_bench_report report, void *context,
                             tithe_bench_summary *summary, tithe_error *error)
{
    if (!report || !summary) return ti_fail(error, TITHE_E_ARGUMENT, 0, "A report and a summary are needed.");
    bench_run run = {.report = report, .context = context, .summary = summary, .error = error};
    if (options) run.options = *options;
    fill_defaults(&run);
    *summary = (tithe_bench_summary){.disturbed = false};
    find_cpu(summary->cpu, sizeof summary->cpu);
    tithe_status status = expect_sense(&run);
    if (status) return status;
    status = open_calls(&run);
    if (!status) status = open_filler(&run);
    if (!status) status = run_all(&run);
    free(run.filler.bytes);
    for (size_t i = 0; i < run.options.thread_count; i++) tithe_pool_free(run.calls[i].pool);
    return status;
}
