/* cmd_train.c - tithe train: one distributed training run, and what it cost. */
#include <math.h>
#include <stdlib.h>

#include "files.h"
#include "flags.h"
#include "processes.h"
#include "text.h"
#include "train_facts.h"
#include "train_replay.h"
#include "train_run.h"
#include "verbs.h"

/* How steps were made, and what to type for one that needs no choice. */
static void print_steering(const tithe_train_result *r, const train_settings *s)
{
    char flags[1024];
    if (!*r->setting) return;
    flags_list(r->setting, flags, sizeof flags);
    printf("%s changed its mind %u time%s; the last setting is %s\n", r->facts.tuner, r->changes,
           r->changes == 1 ? "" : "s", flags);
    if (!*r->hindsight) return;
    char *line = train_command_with("train", s->word_count, s->words, r->hindsight);
    printf("from the start it would have taken: %s\n", line);
    free(line);
}

static void print_outcome(const train_outcome *out, const train_settings *s)
{
    const tithe_train_result *r = &out->result;
    const tithe_trace_record *last = &r->last;
    printf("after %s step%s, %.4g epoch%s, %.3g s (besides: set-up %.3g s, records %.3g s): loss %.8g",
           text_group(r->steps).text, r->steps == 1 ? "" : "s", last->epochs, last->epochs == 1 ? "" : "s",
           last->seconds, last->setup_seconds, last->record, last->loss);
    if (!isnan(last->gap)) printf(", gap %.3g", last->gap);
    if (!isnan(last->accuracy)) printf(", %.2f %% of the rows right", 100 * last->accuracy);
    printf("\n");
    if (!isnan(last->average_loss))
        printf("averaged iterate: loss %.8g, gap %.3g\n", last->average_loss, last->average_gap);
    printf("up %s, back %s, sent in all %s", text_bytes(last->uplink_bytes).text,
           text_bytes(last->downlink_bytes).text, text_bytes(last->sent_bytes).text);
    if (last->setup_bytes > 0) printf(" (%s of it for set-up)", text_bytes(last->setup_bytes).text);
    printf("; cost %s %s\n", text_short(last->cost).text, r->facts.cost_unit);
    if (r->facts.buckets > 1)
        printf("%u buckets: %s messages, %.3g s of sending while the next one was encoded\n",
               r->facts.buckets, text_group((uint64_t)last->messages).text, last->overlap);
    if (last->skipped > 0)
        printf("%s of the steps skipped, because a gradient was not finite or too large to be sent\n",
               text_group((uint64_t)last->skipped).text);
    if (!isnan(r->kept_mean) && r->kept_least < 1)
        printf("energy kept: %.3g on average, %.3g at least; SpeedUp(T) %.4g on average, %.4g at least\n",
               r->kept_mean, r->kept_least, r->speedup_mean, r->speedup_least);
    const tithe_complexity *c = &r->complexity;
    if (r->kept_least < 1 && !isnan(c->strongly_convex[1])) {
        printf("steps in theory to gap %-9.3g%9s%16s%12s   (it took %s)\n", c->gap, "dense", "this run's T",
               "worst T", text_group(r->steps).text);
        const double *rows[] = {c->strongly_convex, c->convex, c->nonconvex};
        static const char *const names[] = {"strongly convex", "convex", "not convex"};
        for (int i = 0; i < 3; i++)
            printf("  %-21s%18.3g%16.3g%12.3g\n", names[i], rows[i][0], rows[i][1], rows[i][2]);
    }
    if (r->restarts)
        printf("the loss rose: back to the lowest %u time%s, with half the step each time, %.4g in the end\n",
               r->restarts, r->restarts == 1 ? "" : "s", last->step_size);
    if (r->target == TITHE_TARGET_MISSED) printf("the target was not reached\n");
    if (r->stopped) printf("stopped by hand\n");
    print_steering(r, s);
    printf("model %s\n", r->model_hash);
    if (s->report) printf("report %s\n", s->report);
}

static int verdict(const train_outcome *out)
{
    if (out->result.stopped) return train_exit_stopped();
    if (out->status == TITHE_E_DIVERGED) return EXIT_ANSWER_NO;
    return out->result.target == TITHE_TARGET_MISSED ? EXIT_ANSWER_NO : EXIT_DONE;
}

static int finish(const train_settings *s, train_outcome *out)
{
    tithe_error error = {0};
    if (s->report) {
        const tithe_trace *traces[] = {out->trace};
        const tithe_status status = tithe_report_write(s->report, NULL, traces, 1, &error);
        if (status) return text_fail_status(NULL, status, &error);
    }
    if (s->json && !json_write(s->json, train_facts_json(&out->result))) return EXIT_BAD;
    if (!s->quiet) print_outcome(out, s);
    return verdict(out);
}

/* One process speaks for all; the others only work. */
static int run(train_settings *s, const char *line, bool speaks)
{
    train_outcome out = {0};
    int status = EXIT_BAD;
    if (!speaks) s->trace = s->report = s->json = NULL;
    if (train_run(s, "run", line, !speaks || s->quiet, &out))
        status = speaks ? finish(s, &out) : verdict(&out);
    train_outcome_free(&out);
    return status;
}

static int spread(train_settings *s, const char *line)
{
    processes p;
    int status = EXIT_BAD;
    const process_part part = processes_begin(s, &p);
    p.waits_can_stop =
        false; /* from here on a signal is for the run, which all processes end at the same step */
    if (part == PART_ALL || part == PART_FIRST || part == PART_OTHER)
        status = run(s, line, part != PART_OTHER);
    if (part == PART_SERVED) status = p.status;
    processes_end(&p);
    return s->local ? status : train_exit(status); /* with --local, the parent has the last word */
}

/* What the command line says of a run, into s. False: the verb ends here with *status. */
static bool read_options(train_settings *s, int argc, char **argv, int *status)
{
    option options[TRAIN_OPTIONS];
    size_t n = train_options_table(s, options);
    n += train_process_options(s, options + n);
    n += train_switch_options(s, options + n);
    n += train_parts_options(s, options + n);
    options[n++] = option_text("trace", "FILE",
                               "write one line for each step that was looked at (CSV); - is standard output, "
                               "as for --report and --json",
                               &s->trace);
    options[n++] = option_text(
        "replay", "TRACE",
        "take the settings of a run under a tuner that steers once more, at the same steps", &s->replay);
    options[n++] = option_text("report", "FILE", "draw the run on an HTML page", &s->report);
    options[n++] = option_json(&s->json);
    options[n] = option_end();
    const command c = {
        .positionals = "",
        .min = 0,
        .max = 0,
        .summary = "Train a model on data that is shared by workers, with compressed messages, and say what "
                   "it cost. "
                   "Exit status 1: a target was given and missed, or the run diverged; 130 and 143: it was "
                   "stopped by "
                   "Ctrl-C or SIGTERM, and says how far it came.",
        .options = options,
        .examples =
            "  tithe train --data w8a-like --workers 20 --codec topk:keep=0.01\n"
            "  tithe train --data w8a-like --workers 20 --estimator lsvrg --codec threshold:lambda=0.05 "
            "--epochs 30 --report run.html\n"
            "  tithe train --data a9a-like --workers 8 --codec natural --downlink natural --target-gap 1e-3 "
            "--json -",
    };
    int count;
    if (!options_parse(&c, argc, argv, &count, status)) return false;
    *status = EXIT_BAD;
    if (!s->run.resume) return true;
    return train_options_resume(s) && options_parse(&c, argc, argv, &count, status);
}

int cmd_train(int argc, char **argv)
{
    train_catch_interrupt(false);
    train_settings s = train_settings_defaults();
    s.words = argv;
    s.word_count = argc;
    char *line = train_command("train", argc, argv);
    int status = EXIT_BAD;
    if (read_options(&s, argc, argv, &status)) {
        status = EXIT_BAD;
        const bool sensible = train_options_finish(&s) && (!s.replay || train_replay_read(s.replay, &s)) &&
                              file_outputs((const file_output[]){{"--trace", s.trace, true},
                                                                 {"--report", s.report, false},
                                                                 {"--json", s.json, false},
                                                                 {NULL, NULL, false}},
                                           &s.quiet);
        if (sensible) status = spread(&s, line);
    }
    train_settings_free(&s);
    free(line);
    return status;
}
