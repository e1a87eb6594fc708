/* cmd_check.c - tithe check: does a codec keep its promises?
 *
 * The library measures; this file decides which codecs, runs them on a few threads, and prints the rows in
 * the order of the codecs, whatever the threads do. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "options.h"
#include "specs.h"
#include "text.h"
#include "tithe/check.h"
#include "verbs.h"

typedef struct check_row {
    char *spec, *claim;
    double bound, measured;
    bool holds;
    char detail[160];
} check_row;

/* One codec, or the identities of the family when codec is NULL. */
typedef struct check_job {
    tithe_codec *codec;
    tithe_status status;
    check_row *rows;
    size_t count, capacity;
} check_job;

typedef struct check_run {
    check_job *jobs;
    size_t count, capacity;
    uint64_t seed;
    atomic_size_t next, done;
} check_run;

/* ---- which codecs ------------------------------------------------------------------------------------- */

static void add_job(check_run *run, tithe_codec *codec)
{
    if (run->count == run->capacity) {
        const size_t capacity = run->capacity ? 2 * run->capacity : 64;
        check_job *jobs = text_memory(capacity * sizeof *jobs);
        if (run->count) memcpy(jobs, run->jobs, run->count * sizeof *jobs);
        free(run->jobs);
        run->jobs = jobs;
        run->capacity = capacity;
    }
    run->jobs[run->count++] = (check_job){.codec = codec};
}

/* scale=contractive on either side of the bar makes the same codec: check it once. */
static bool is_known(const check_run *run, const tithe_codec *codec)
{
    for (size_t i = 0; i < run->count; i++)
        if (strcmp(tithe_codec_spec(run->jobs[i].codec), tithe_codec_spec(codec)) == 0) return true;
    return false;
}

/* Every pair that the library does not refuse, and the identities of the family. The further examples of a
 * variant (another scale, another norm) meet the plain ones of the other side only: that asks everything once
 * and keeps the time in bounds. */
static void add_all(check_run *run)
{
    spec_list selectors = {0}, quantizers = {0};
    for (const tithe_selector *const *s = tithe_selectors(); *s; s++)
        spec_examples(spec_selector(*s), spec_values_check, &selectors);
    for (const tithe_quantizer *const *q = tithe_quantizers(); *q; q++)
        spec_examples(spec_quantizer(*q), spec_values_check, &quantizers);

    for (size_t i = 0; i < selectors.count; i++)
        for (size_t j = 0; j < quantizers.count; j++) {
            char spec[400];
            tithe_codec *codec = NULL;
            if (!selectors.items[i].base && !quantizers.items[j].base) continue;
            snprintf(spec, sizeof spec, "%s|%s", selectors.items[i].half, quantizers.items[j].half);
            if (tithe_codec_create(spec, NULL, &codec, NULL) != TITHE_OK) continue;
            if (is_known(run, codec))
                tithe_codec_free(codec);
            else
                add_job(run, codec);
        }
    add_job(run, NULL);
    spec_list_free(&selectors);
    spec_list_free(&quantizers);
}

static bool add_named(check_run *run, int count, char **specs)
{
    for (int i = 0; i < count; i++) {
        tithe_codec *codec = NULL;
        tithe_error error = {0};
        const tithe_status status = tithe_codec_create(specs[i], NULL, &codec, &error);
        if (status) {
            text_fail_status(NULL, status, &error);
            return false;
        }
        add_job(run, codec);
    }
    return true;
}

/* ---- running ------------------------------------------------------------------------------------------ */

static bool keep_row(void *context, const tithe_check_row *row)
{
    check_job *job = context;
    if (job->count == job->capacity) {
        const size_t capacity = job->capacity ? 2 * job->capacity : 8;
        check_row *rows = text_memory(capacity * sizeof *rows);
        if (job->count) memcpy(rows, job->rows, job->count * sizeof *rows);
        free(job->rows);
        job->rows = rows;
        job->capacity = capacity;
    }
    check_row *kept = &job->rows[job->count++];
    *kept = (check_row){.spec = text_copy(row->spec),
                        .claim = text_copy(row->claim),
                        .bound = row->bound,
                        .measured = row->measured,
                        .holds = row->holds};
    memcpy(kept->detail, row->detail, sizeof kept->detail);
    kept->detail[sizeof kept->detail - 1] = 0;
    return true;
}

static void *work(void *context)
{
    check_run *run = context;
    for (;;) {
        const size_t i = atomic_fetch_add(&run->next, 1);
        if (i >= run->count) return NULL;
        check_job *job = &run->jobs[i];
        job->status = job->codec ? tithe_check_codec(job->codec, run->seed, keep_row, job)
                                 : tithe_check_identities(run->seed, keep_row, job);
        atomic_fetch_add(&run->done, 1);
    }
}

static void show_progress(check_run *run)
{
    const struct timespec blink = {.tv_nsec = 100000000};
    while (isatty(STDERR_FILENO)) {
        const size_t done = atomic_load(&run->done);
        if (done >= run->count) break;
        text_progress("checked %zu of %zu codecs", done, run->count);
        nanosleep(&blink, NULL);
    }
    text_progress_end();
}

static void run_all(check_run *run, size_t threads)
{
    enum { MAX = 64 };
    pthread_t workers[MAX];
    size_t started = 0;
    while (started < threads && started < MAX && pthread_create(&workers[started], NULL, work, run) == 0)
        started++;
    if (started)
        show_progress(run);
    else
        work(run); /* no thread to be had: do it here */
    for (size_t i = 0; i < started; i++) pthread_join(workers[i], NULL);
}

/* ---- output ------------------------------------------------------------------------------------------- */

static const char *job_name(const check_job *job)
{
    return job->codec ? tithe_codec_spec(job->codec) : "identities of the family";
}

static size_t job_broken(const check_job *job)
{
    size_t broken = 0;
    for (size_t i = 0; i < job->count; i++) broken += !job->rows[i].holds;
    return broken;
}

/* Every claim with how it was measured. */
static void print_rows(const check_job *job)
{
    enum { DETAIL = 11 };
    printf("%s\n", job_name(job));
    for (size_t i = 0; i < job->count; i++) {
        const check_row *row = &job->rows[i];
        printf("  %-5s    %-32s  measured %-12s  bound %s\n", row->holds ? "holds" : "FAILS", row->claim,
               text_short(row->measured).text, text_short(row->bound).text);
        printf("%*s", DETAIL, "");
        text_wrap(stdout, DETAIL, DETAIL, row->detail);
    }
    printf("\n");
}

/* Some two hundred codecs: a line for each one that keeps its promises, everything about one that does not. */
static void print_short(const check_job *job)
{
    if (job_broken(job))
        print_rows(job);
    else
        printf("  holds  %4zu claims  %s\n", job->count, job_name(job));
}

static void add_json(cJSON *json, const check_job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        const check_row *row = &job->rows[i];
        cJSON *item = json_append(json, json_object());
        json_text(item, "spec", row->spec);
        json_text(item, "claim", row->claim);
        json_number(item, "bound", row->bound);
        json_number(item, "measured", row->measured);
        json_bool(item, "holds", row->holds);
        json_text(item, "detail", row->detail);
    }
}

static int report(const check_run *run, bool brief, const char *json_path)
{
    size_t claims = 0, broken = 0, codecs = 0;
    for (size_t i = 0; i < run->count; i++) {
        const check_job *job = &run->jobs[i];
        if (job->status) return text_fail_status(job_name(job), job->status, NULL);
        claims += job->count;
        broken += job_broken(job);
        codecs += job->codec != NULL;
    }

    if (json_path) {
        cJSON *json = json_array();
        for (size_t i = 0; i < run->count; i++) add_json(json, &run->jobs[i]);
        if (!json_write(json_path, json)) return EXIT_BAD;
    }
    if (!json_alone(json_path)) {
        for (size_t i = 0; i < run->count; i++) (brief ? print_short : print_rows)(&run->jobs[i]);
        if (brief) printf("\n");
        if (broken)
            printf("%s of %s claims do not hold", text_group(broken).text, text_group(claims).text);
        else
            printf("%s claims, all hold", text_group(claims).text);
        printf(" (%zu codec%s)\n", codecs, codecs == 1 ? "" : "s");
    }
    return broken ? EXIT_ANSWER_NO : EXIT_DONE;
}

static void run_end(check_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        check_job *job = &run->jobs[i];
        for (size_t r = 0; r < job->count; r++) {
            free(job->rows[r].spec);
            free(job->rows[r].claim);
        }
        free(job->rows);
        tithe_codec_free(job->codec);
    }
    free(run->jobs);
}

int cmd_check(int argc, char **argv)
{
    const char *json = NULL;
    uint64_t seed = 1, threads = 2;
    const option options[] = {
        option_u64("seed", "S", "seed of the vectors and of the codecs (default 1)", &seed),
        option_number("threads", "N",
                      "codecs measured at the same time (default 2); the rows are the same for any N", 1, 64,
                      &threads),
        option_json(&json),
        option_end(),
    };
    const command c = {
        .positionals = "[SPEC...]",
        .min = 0,
        .max = -1,
        .summary = "Measure what codecs claim on Gaussian, heavy-tailed, sparse and adversarial vectors: no "
                   "bias, no more error than promised, no more bytes than promised. Without SPEC every legal "
                   "pair is measured at an example level, and the identities that join the families. Exit "
                   "status 1 when a claim does not hold.",
        .options = options,
        .examples = "  tithe check\n"
                    "  tithe check 'topk:keep=0.01|natural'\n"
                    "  tithe check dither:s=7 natdither:s=7 --seed 3 --json claims.json",
    };
    int count, status;
    if (!options_parse(&c, argc, argv, &count, &status)) return status;
    if (!json_can_write(json)) return EXIT_BAD;

    check_run run = {.seed = seed};
    if (count == 0) add_all(&run);
    if (add_named(&run, count, argv)) {
        run_all(&run, (size_t)threads);
        status = report(&run, count == 0, json);
    } else {
        status = EXIT_BAD;
    }
    run_end(&run);
    return status;
}
