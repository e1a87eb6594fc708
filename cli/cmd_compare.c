/* cmd_compare.c - tithe compare: several runs on one problem, from a small text file, with one table and one report.
 *
 *     # comment
 *     title: Top-k on w8a
 *     all:  --data w8a-like --workers 20 --epochs 10
 *     dense:
 *     top-k: --codec topk:keep=0.01
 *
 * `all` holds for every run; what a run states itself wins. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "text.h"
#include "train_facts.h"
#include "train_run.h"
#include "verbs.h"

enum { MAX_RUNS = 64, MAX_WORDS = 128 };

typedef struct line_words {
    int count;
    char *words[MAX_WORDS];
} line_words;

typedef struct plan {
    const char *path;
    char *text; /* the file; everything below points into it */
    const char *title;
    line_words all;
    int all_line; /* 0: there is none */
    size_t count;
    struct {
        const char *name;
        line_words words;
        int line;
    } runs[MAX_RUNS];
} plan;

/* ---- the file ------------------------------------------------------------------------------------------ */

/* Words as a shell would see them, with '...' and "..." but nothing else; in place. */
static bool split_words(char *text, line_words *out)
{
    char *to = text;
    out->count = 0;
    for (;;) {
        while (isspace((unsigned char)*text)) text++;
        if (!*text) return true;
        if (out->count == MAX_WORDS) return false;
        out->words[out->count++] = to;
        while (*text && !isspace((unsigned char)*text)) {
            if (*text == '\'' || *text == '"') {
                const char quote = *text++;
                while (*text && *text != quote) *to++ = *text++;
                if (!*text++) return false;
            } else {
                *to++ = *text++;
            }
        }
        const bool end = !*text;
        *to++ = 0;
        if (!end)
            text++;
        else
            return true;
    }
}

static bool take_line(plan *p, char *line, int number)
{
    while (isspace((unsigned char)*line)) line++;
    if (!*line || *line == '#') return true;
    char *colon = strchr(line, ':');
    if (!colon || colon == line || strcspn(line, " \t") < (size_t)(colon - line)) {
        text_fail("%s:%d: a line is 'name: options', such as 'top-k: --codec topk:keep=0.01'", p->path,
                  number);
        return false;
    }
    *colon = 0;
    char *rest = colon + 1;
    if (strcmp(line, "title") == 0) {
        while (isspace((unsigned char)*rest)) rest++;
        p->title = rest;
        return true;
    }
    const bool all = strcmp(line, "all") == 0;
    if (all && p->all_line) {
        text_fail("%s:%d: there is a line 'all' already, line %d", p->path, number, p->all_line);
        return false;
    }
    if (!all && p->count == MAX_RUNS) {
        text_fail("%s:%d: there is room for %d runs", p->path, number, MAX_RUNS);
        return false;
    }
    for (size_t i = 0; !all && i < p->count; i++)
        if (strcmp(p->runs[i].name, line) == 0) {
            text_fail("%s:%d: there is a run '%s' already, in line %d", p->path, number, line,
                      p->runs[i].line);
            return false;
        }
    line_words *words = all ? &p->all : &p->runs[p->count].words;
    if (!split_words(rest, words)) {
        text_fail("%s:%d: a quote is not closed, or there are more than %d words", p->path, number,
                  MAX_WORDS);
        return false;
    }
    if (all) {
        p->all_line = number;
    } else {
        p->runs[p->count].name = line;
        p->runs[p->count++].line = number;
    }
    return true;
}

static bool read_plan(plan *p)
{
    uint8_t *data;
    size_t size;
    if (!file_read(p->path, &data, &size)) return false;
    p->text = text_memory(size + 1);
    memcpy(p->text, data, size);
    p->text[size] = 0;
    free(data);
    if (strlen(p->text) != size) {
        text_fail("%s: this is no text", p->path);
        return false;
    }
    int number = 1;
    for (char *line = p->text; line; number++) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        if (!take_line(p, line, number)) return false;
        line = end ? end + 1 : NULL;
    }
    if (p->count) return true;
    text_fail("%s: there is no run in it; a line is 'name: options'", p->path);
    return false;
}

/* ---- the runs ------------------------------------------------------------------------------------------ */

/* The words of `all` and of run i. False: something is wrong with them, and that was said. */
static bool join_words(const plan *p, size_t i, line_words *words)
{
    const line_words *parts[] = {&p->all, &p->runs[i].words};
    words->count = 0;
    for (int part = 0; part < 2; part++)
        for (int w = 0; w < parts[part]->count; w++) {
            char *word = parts[part]->words[w];
            if (words->count == MAX_WORDS) {
                text_fail("There are more than %d words, those of 'all' included", MAX_WORDS);
                return false;
            }
            if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
                text_fail("%s has no place in a file; 'tithe train --help' lists what has", word);
                return false;
            }
            words->words[words->count++] = word;
        }
    return true;
}

/* The options of run i, into s; the words are kept in `words`. */
static bool read_run(const plan *p, size_t i, train_settings *s, line_words *words)
{
    if (!join_words(p, i, words)) return false;
    *s = train_settings_defaults();
    option options[TRAIN_OPTIONS];
    const size_t n = train_options_table(s, options);
    options[n] = option_end();
    const command c = {.verb = "train", .positionals = "", .summary = "", .options = options, .examples = ""};
    line_words parsed = *words; /* parsing sorts */
    int count, status;
    return options_parse(&c, parsed.count, parsed.words, &count, &status) && train_options_finish(s);
}

/* Beside what the theory of compression both ways predicts. */
static void print_slowdown(const train_outcome *outcomes, const tithe_trace *const *traces, const plan *p)
{
    for (size_t i = 0; i < p->count; i++) {
        const double measured = tithe_trace_slower(traces, p->count, i),
                     predicted = outcomes[i].result.facts.slowdown;
        if (!isnan(measured) && predicted > 1)
            printf("%s took %.3g times the steps of the dense run; predicted: at most %.3g times.\n",
                   p->runs[i].name, measured, predicted);
    }
}

/* How a run compares with its baseline. */
typedef struct standing {
    double up, sent, loss; /* NAN: not known */
    size_t baseline;       /* as many as there are runs: none */
    size_t rank;           /* from 1, by what was sent; 0: not known */
} standing;

static void rank_all(const tithe_trace *const *traces, size_t count, standing *s)
{
    for (size_t i = 0; i < count; i++) {
        s[i] = (standing){.loss = NAN};
        s[i].up = tithe_trace_cheaper(traces, count, i, &s[i].loss);
        s[i].sent = tithe_trace_cheaper_sent(traces, count, i, &s[i].baseline);
    }
    for (size_t i = 0; i < count; i++) {
        s[i].rank = !isnan(s[i].sent);
        for (size_t j = 0; j < count && s[i].rank; j++)
            s[i].rank += s[j].sent > s[i].sent || (j < i && s[j].sent == s[i].sent);
    }
}

static void print_ranking(const standing *s, const plan *p)
{
    const char *before = "\ncheapest by all that was sent: ";
    for (size_t rank = 1; rank <= p->count; rank++)
        for (size_t i = 0; i < p->count; i++)
            if (s[i].rank == rank) {
                printf("%s%s (%.3g x)", before, p->runs[i].name, s[i].sent);
                before = ", ";
            }
    if (*before == ',') printf("\n");
}

static void print_table(const train_outcome *outcomes, const standing *s, const plan *p)
{
    size_t widest = 4;
    for (size_t i = 0; i < p->count; i++)
        if (strlen(p->runs[i].name) > widest) widest = strlen(p->runs[i].name);
    printf("\n%-*s %9s %11s %9s %10s %10s %10s %9s  %s\n", (int)widest, "", "steps", "loss", "gap", "up",
           "back", "sent", "seconds", "cheaper than dense: up, sent");
    for (size_t i = 0; i < p->count; i++) {
        const tithe_trace_record *last = &outcomes[i].result.last;
        char cheaper[96] = "-", sent[24] = "-";
        if (!isnan(s[i].sent)) snprintf(sent, sizeof sent, "%.3g x", s[i].sent);
        if (!isnan(s[i].up) && !isnan(s[i].loss))
            snprintf(cheaper, sizeof cheaper, "%.3g x, %s, to loss %.4g", s[i].up, sent, s[i].loss);
        else if (!isnan(s[i].up))
            snprintf(cheaper, sizeof cheaper, "%.3g x a step", s[i].up);
        printf("%-*s %9s %11.6g %9s %10s %10s %10s %9.3g  %s\n", (int)widest, p->runs[i].name,
               text_group(outcomes[i].result.steps).text, last->loss,
               isnan(last->gap) ? "-" : text_short(last->gap).text, text_bytes(last->uplink_bytes).text,
               text_bytes(last->downlink_bytes).text, text_bytes(last->sent_bytes).text, last->seconds,
               cheaper);
    }
    print_ranking(s, p);
    printf("\nup: frames of all workers; back: what came back to them; sent: all that left any process. "
           "Cheaper: "
           "the cost of the way up,\nand all bytes that were sent, of the dense run with the same estimator "
           "(else "
           "of the first dense one) over those of this run,\nboth until they first had the lowest loss that "
           "both "
           "reached.\n");
}

static cJSON *run_json(const train_outcome *out, const standing *s, const plan *p, size_t i)
{
    cJSON *json = train_facts_json(&out->result);
    json_text(json, "name", p->runs[i].name);
    json_text(json, "baseline", s->baseline < p->count ? p->runs[s->baseline].name : NULL);
    json_number(json, "cheaper_up", s->up);
    json_number(json, "cheaper_sent", s->sent);
    json_number(json, "cheaper_loss", s->loss);
    json_number(json, "rank", s->rank ? (double)s->rank : NAN);
    return json;
}

static int run_all(const plan *p, const char *report, const char *json_path, bool quiet)
{
    train_outcome *outcomes = text_memory(p->count * sizeof *outcomes);
    const tithe_trace **traces =
        text_memory(p->count * sizeof *traces); /* NOLINT(bugprone-sizeof-expression): pointers are meant */
    memset(outcomes, 0, p->count * sizeof *outcomes);
    size_t done = 0;
    int result = EXIT_DONE;
    for (; done < p->count && result != EXIT_BAD && !train_interrupts(); done++) {
        train_settings s;
        line_words words;
        text_set_place(p->path, p->runs[done].line);
        read_run(p, done, &s, &words); /* was checked before */
        char *line = train_command("train", words.count, words.words);
        if (!train_run(&s, p->runs[done].name, line, true, &outcomes[done]))
            result = EXIT_BAD;
        else if (outcomes[done].status || outcomes[done].result.target == TITHE_TARGET_MISSED)
            result = EXIT_ANSWER_NO;
        traces[done] = outcomes[done].trace;
        free(line);
    }
    text_set_place(NULL, 0);
    if (!done) result = text_fail("It was stopped by hand, before the first run");
    plan finished = *p;
    finished.count = done;
    if (result != EXIT_BAD) {
        tithe_error error = {0};
        tithe_status status = TITHE_OK;
        standing standings[MAX_RUNS];
        rank_all(traces, done, standings);
        if (report) status = tithe_report_write(report, p->title, traces, done, &error);
        if (status) result = text_fail_status(NULL, status, &error);
        if (json_path && result != EXIT_BAD) {
            cJSON *json = json_object(), *runs = json_array();
            for (size_t i = 0; i < done; i++)
                json_append(runs, run_json(&outcomes[i], &standings[i], &finished, i));
            json_item(json, "runs", runs);
            if (!json_write(json_path, json)) result = EXIT_BAD;
        }
        if (!quiet && result != EXIT_BAD) {
            print_table(outcomes, standings, &finished);
            print_slowdown(outcomes, traces, &finished);
            if (report) printf("\n%s\n", report);
        }
    }
    if (train_interrupts() && (done < p->count || !done || outcomes[done - 1].result.stopped))
        result = train_exit_stopped();
    for (size_t i = 0; i < done; i++) train_outcome_free(&outcomes[i]);
    free(outcomes);
    free(traces);
    return result;
}

int cmd_compare(int argc, char **argv)
{
    train_catch_interrupt(false);
    const char *report = NULL, *json = NULL;
    const option options[] = {
        option_text("report", "FILE", "draw all runs on one HTML page", &report),
        option_json(&json),
        option_end(),
    };
    const command c = {
        .positionals = "FILE",
        .min = 1,
        .max = 1,
        .summary =
            "Train several ways on one problem. FILE has a line 'name: options' for each run, with "
            "the options of "
            "tithe train; a line 'all: options' holds for every run, 'title: text' stands on the "
            "report, and # "
            "begins a comment. Exit status 1: a run missed its target, or diverged; 130 and 143: Ctrl-C or "
            "SIGTERM.",
        .options = options,
        .examples = "  tithe compare runs.txt --report runs.html\n"
                    "  tithe compare examples/demo.txt --json -",
    };
    int count, status;
    if (!options_parse(&c, argc, argv, &count, &status)) return status;
    bool quiet;
    if (!file_outputs(
            (const file_output[]){{"--report", report, false}, {"--json", json, false}, {NULL, NULL, false}},
            &quiet))
        return EXIT_BAD;
    if (train_by_mpirun())
        return text_fail("Under mpirun each process would make all the runs: start compare without it");
    plan p = {.path = argv[0]};
    status = EXIT_BAD;
    if (read_plan(&p)) {
        bool fine = true;
        for (size_t i = 0; i < p.count && fine;
             i++) { /* a mistake in the last line is found before the first run */
            train_settings s;
            line_words words;
            text_set_place(p.path, p.runs[i].line);
            tithe_error error = {0};
            fine = read_run(&p, i, &s, &words);
            const tithe_status wrong = fine ? tithe_train_check(&s.run, &error) : TITHE_OK;
            if (wrong) text_fail_status(NULL, wrong, &error);
            fine = fine && !wrong;
            text_set_place(NULL, 0);
        }
        if (fine) status = run_all(&p, report, json, quiet);
    }
    free(p.text);
    return status;
}
