/* cmd_bench.c - tithe bench: how fast is it here?
 *
 * The library measures; this file reads what is to be measured, prints a table for each vector, and writes the JSON.
 * A busy machine is no failure, and neither is a gate that was missed: only a wrong result is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_switch.h"
#include "json.h"
#include "options.h"
#include "text.h"
#include "tithe/bench.h"
#include "verbs.h"

enum { MAX = 16 }; /* entries of a list on the command line */

typedef struct bench_output {
    cJSON *results; /* NULL: nobody wants them */
    bool quiet;     /* standard output is the JSON */
    bool codecs;
    size_t n; /* of the table that is being printed */
    unsigned threads;
    const char *data, *isa;
    size_t gates, missed;
} bench_output;

/* ---- what is asked for -------------------------------------------------------------------------------- */

/* "16777216" or "2^24" */
static bool read_size(const char *text, size_t *size)
{
    uint64_t value;
    if (strncmp(text, "2^", 2) == 0) {
        if (!options_number(text + 2, 0, 31, &value)) return false;
        *size = (size_t)1 << value;
        return true;
    }
    if (!options_number(text, 1, TITHE_MAX_N, &value)) return false;
    *size = (size_t)value;
    return true;
}

/* The words between the commas of `text`, which is cut up for it. */
static bool split(const char *name, char *text, const char **words, size_t *count)
{
    *count = 0;
    for (char *word = text; word;) {
        char *comma = strchr(word, ',');
        if (comma) *comma = 0;
        if (*count == MAX) {
            text_fail("--%s takes at most %d entries", name, MAX);
            return false;
        }
        words[(*count)++] = word;
        word = comma ? comma + 1 : NULL;
    }
    return true;
}

static bool read_sizes(char *text, size_t *sizes, size_t *count)
{
    const char *words[MAX];
    if (!split("n", text, words, count)) return false;
    for (size_t i = 0; i < *count; i++)
        if (!read_size(words[i], &sizes[i])) {
            text_fail(
                "--n takes lengths with commas between them, such as 2^20,2^24 or 1000000, but has '%s'",
                words[i]);
            return false;
        }
    return true;
}

static bool read_threads(char *text, unsigned *threads, size_t *count)
{
    const char *words[MAX];
    if (!split("threads", text, words, count)) return false;
    for (size_t i = 0; i < *count; i++) {
        uint64_t value;
        if (!options_number(words[i], 1, 256, &value)) {
            text_fail(
                "--threads takes numbers from 1 to 256 with commas between them, such as 1,2, but has '%s'",
                words[i]);
            return false;
        }
        threads[i] = (unsigned)value;
    }
    return true;
}

/* ---- the table ---------------------------------------------------------------------------------------- */

static text_number size_name(size_t n)
{
    text_number out = text_group(n);
    for (int power = 10; power < 32; power++)
        if (n == (size_t)1 << power) snprintf(out.text, sizeof out.text, "2^%d", power);
    return out;
}

static text_number time_name(double seconds)
{
    text_number out;
    if (seconds >= 1e-3)
        snprintf(out.text, sizeof out.text, "%.2f ms", seconds * 1e3);
    else
        snprintf(out.text, sizeof out.text, "%.1f us", seconds * 1e6);
    return out;
}

static text_number rate_name(double bits_per_second)
{
    text_number out;
    if (!(bits_per_second > 0))
        snprintf(out.text, sizeof out.text, "never");
    else if (bits_per_second >= 1e9)
        snprintf(out.text, sizeof out.text, "%.1f Gbit/s", bits_per_second / 1e9);
    else
        snprintf(out.text, sizeof out.text, "%.0f Mbit/s", bits_per_second / 1e6);
    return out;
}

static void print_heading(const bench_output *out)
{
    printf("\nn = %s, %s, %s, %u thread%s\n", size_name(out->n).text, out->data, out->isa, out->threads,
           out->threads == 1 ? "" : "s");
    printf("  %-*s%11s%11s%7s%7s%7s  %s\n", out->codecs ? 41 : 22, "", "median", "fastest", "GB/s", "xM",
           "xR", out->codecs ? "bytes, and pays below" : "gate");
}

/* What else there is to say of a row: sizes, and the gate. */
static void print_remarks(const tithe_bench_row *row, bool codecs)
{
    static const char *const verdicts[] = {"", "met", "MISSED"};
    if (codecs && !isnan(row->break_even))
        printf("  %s, %s", text_group((uint64_t)row->bytes).text, rate_name(row->break_even).text);
    const bool indices_alone = !isnan(row->bits_per_index) && isnan(row->bytes);
    if (indices_alone)
        printf("  %.2f bits of %.2f, %.2f ns an index", row->bits_per_index, row->entropy_bits,
               row->seconds * 1e9 / row->indices);
    if (row->gate[0]) printf("%s%s  %s", indices_alone ? ": " : "  ", row->gate, verdicts[row->verdict]);
    printf("\n");
}

static void print_row(bench_output *out, const tithe_bench_row *row)
{
    if (out->n != row->n || out->threads != row->threads || !out->data || strcmp(out->data, row->data) != 0 ||
        strcmp(out->isa, row->isa) != 0) {
        out->n = row->n;
        out->threads = row->threads;
        out->data = row->data;
        out->isa = row->isa;
        print_heading(out);
    }
    printf("  %-*s%11s%11s%7.2f%7.2f%7.2f", out->codecs ? 41 : 22, row->name, time_name(row->seconds).text,
           time_name(row->fastest).text, 4e-9 * (double)row->n / row->seconds, row->xM, row->xR);
    print_remarks(row, out->codecs);
}

static void add_json(cJSON *results, const tithe_bench_row *row)
{
    cJSON *item = json_append(results, json_object());
    json_text(item, "name", row->name);
    json_count(item, "n", row->n);
    json_text(item, "data", row->data);
    json_text(item, "isa", row->isa);
    json_count(item, "threads", row->threads);
    json_number(item, "seconds", row->seconds);
    json_number(item, "xM", row->xM);
    json_number(item, "xR", row->xR);
    json_number(item, "bits_per_index", row->bits_per_index);
    json_number(item, "entropy_bits", row->entropy_bits);
    json_number(item, "fastest", row->fastest);
    json_number(item, "bytes", row->bytes);
    json_number(item, "break_even_bps", row->break_even);
    json_text(item, "gate", row->gate[0] ? row->gate : NULL);
    json_item(item, "met",
              row->verdict ? cJSON_CreateBool(row->verdict == TITHE_GATE_MET) : cJSON_CreateNull());
}

static bool take_row(void *context, const tithe_bench_row *row)
{
    bench_output *out = context;
    text_progress_end();
    out->gates += row->verdict != TITHE_NO_GATE;
    out->missed += row->verdict == TITHE_GATE_MISSED;
    if (out->results) add_json(out->results, row);
    if (!out->quiet) print_row(out, row);
    return true;
}

static void show_progress(void *context, const char *what, double done)
{
    (void)context;
    text_progress("%s: %.0f %%", what, 100 * done);
}

/* ---- the verb ----------------------------------------------------------------------------------------- */

static void print_end(const bench_output *out, const tithe_bench_summary *summary)
{
    printf("\n%s\n", summary->cpu);
    printf("xM and xR: how many of these calls fit into one memcpy, and into one plain read, of the same "
           "vector.\n");
    if (out->gates) printf("%zu of %zu gates met.\n", out->gates - out->missed, out->gates);
    if (summary->disturbed) {
        printf("Disturbed: ");
        text_wrap(stdout, 11, 0, summary->reason);
    }
}

static int run(const tithe_bench_options *options, const char *json_path)
{
    tithe_bench_summary summary = {.cpu = ""};
    tithe_error error = {.code = TITHE_OK};
    bench_output out = {.quiet = json_alone(json_path), .codecs = options->suite == TITHE_BENCH_CODECS};
    if (json_path) out.results = json_array();
    const tithe_status status = tithe_bench_run(options, take_row, &out, &summary, &error);
    text_progress_end();
    if (status) {
        cJSON_Delete(out.results);
        return text_fail_status(NULL, status, &error);
    }
    if (json_path) {
        cJSON *json = json_object();
        json_text(json, "cpu", summary.cpu);
        json_bool(json, "disturbed", summary.disturbed);
        json_text(json, "reason", summary.disturbed ? summary.reason : NULL);
        json_item(json, "results", out.results);
        if (!json_write(json_path, json)) return EXIT_BAD;
    }
    if (summary.wrong) {
        text_fail("A result is wrong, so its time means nothing: %s", summary.why);
        return EXIT_ANSWER_NO;
    }
    if (!out.quiet) print_end(&out, &summary);
    return EXIT_DONE;
}

/* The first is the one that is meant where none is named. */
typedef struct suite {
    const char *name;
    tithe_bench_suite suite;
    int (*apart)(const char *json); /* measured by another library; NULL: by libtithe_measure */
} suite;

static const suite suites[] = {
    {"kernels", TITHE_BENCH_KERNELS, NULL},
    {"codecs", TITHE_BENCH_CODECS, NULL},
    {"tuner", TITHE_BENCH_TUNER, NULL},
    {"exchange", TITHE_BENCH_EXCHANGE, NULL},
    {"switch", 0, bench_switch},
    {NULL, 0, NULL},
};

int cmd_bench(int argc, char **argv)
{
    const char *json = NULL, *sizes = NULL, *data = NULL, *rows = NULL, *isa = NULL, *threads = NULL;
    uint64_t rounds = 0;
    const option options[] = {
        option_text("n", "LENGTHS",
                    "lengths of the vectors, such as 2^20,2^24 (default 2^20,2^24,2^26; codecs and exchange "
                    "2^20,2^24; tuner "
                    "47236,3231961,2^24)",
                    &sizes),
        option_text("data", "NAMES",
                    "gaussian, lognormal, and for top-k ties, zeros, sorted, narrow, sample-defeating "
                    "(default all, the "
                    "latter on 2^24 only)",
                    &data),
        option_text("rows", "PATTERN", "only rows whose name holds PATTERN, in which * stands for anything",
                    &rows),
        option_text("isa", "NAME", "ref, avx2, avx512 or neon in place of the best; all: each that runs here",
                    &isa),
        option_text("threads", "COUNTS", "threads that a call may use, such as 1,4 (default 1,2)", &threads),
        option_number("rounds", "R", "timed calls of each row (default 9, and 5 above 2^24)", 1, 10000,
                      &rounds),
        option_json(&json),
        option_end(),
    };
    const command c = {
        .positionals = "[kernels|codecs|tuner|exchange|switch]",
        .min = 0,
        .max = 1,
        .summary = "Measure speed beside memcpy and a plain read of the same vector, in one run. kernels "
                   "(the default): "
                   "the passes of which codecs are made, and error compensation as a whole. codecs: whole "
                   "calls, and "
                   "below which bandwidth they pay. tuner: how long the choice of a level takes. exchange: "
                   "whole steps, with all ranks here. switch: how many numbers a switch on this machine "
                   "adds, which takes no "
                   "option but --json. Every "
                   "result is compared with one found another way: "
                   "exit status 1 "
                   "if one is wrong. A busy machine and a gate that is missed are reported, and exit 0.",
        .options = options,
        .examples = "  tithe bench\n"
                    "  tithe bench --n 2^24 --rows topk --isa all --threads 1\n"
                    "  tithe bench codecs --data gaussian --json speed.json",
    };
    int count, status;
    if (!options_parse(&c, argc, argv, &count, &status)) return status;
    if (!json_can_write(json)) return EXIT_BAD;
    const suite *s = suites;
    while (count && s->name && strcmp(argv[0], s->name) != 0) s++;
    if (!s->name)
        return text_fail("There is no benchmark '%s'; there are kernels, codecs, tuner, exchange and switch",
                         argv[0]);
    if (s->apart) return s->apart(json);
    tithe_bench_options wanted = {
        .rows = rows, .isa = isa, .suite = s->suite, .rounds = (unsigned)rounds, .progress = show_progress};

    size_t size_list[MAX];
    unsigned thread_list[MAX];
    const char *data_list[MAX];
    char *copies[] = {text_copy(sizes ? sizes : ""), text_copy(data ? data : ""),
                      text_copy(threads ? threads : "")};
    bool fine = true;
    if (sizes) fine = read_sizes(copies[0], size_list, &wanted.size_count);
    if (fine && data) fine = split("data", copies[1], data_list, &wanted.data_count);
    if (fine && threads) fine = read_threads(copies[2], thread_list, &wanted.thread_count);
    wanted.sizes = size_list;
    wanted.data = data_list;
    wanted.threads = thread_list;
    status = fine ? run(&wanted, json) : EXIT_BAD;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) free(copies[i]);
    return status;
}
