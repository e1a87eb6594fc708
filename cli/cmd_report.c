/* cmd_report.c - tithe report: one page about the traces of several runs. */
#include <stdlib.h>
#include <sys/stat.h>

#include "files.h"
#include "json.h"
#include "options.h"
#include "text.h"
#include "tithe/trace.h"
#include "verbs.h"

/* A page over one of its own traces would be a sad surprise. */
static bool is_input(const char *out, char **paths, int count)
{
    struct stat page, trace;
    if (stat(out, &page) != 0 || !S_ISREG(page.st_mode)) return false;
    for (int i = 0; i < count; i++)
        if (stat(paths[i], &trace) == 0 && trace.st_dev == page.st_dev && trace.st_ino == page.st_ino)
            return true;
    return false;
}

static bool read_trace(const char *path, tithe_trace **trace)
{
    uint8_t *text;
    size_t length;
    tithe_error error = {0};
    if (!file_read(path, &text, &length)) return false;
    const tithe_status status =
        tithe_trace_parse(file_input_name(path), (const char *)text, length, trace, &error);
    free(text);
    if (status) text_fail_status(NULL, status, &error);
    return !status;
}

static cJSON *report_json(const char *out, tithe_trace *const *traces, int count)
{
    cJSON *json = json_object(), *runs = json_array();
    json_text(json, "file", out);
    for (int i = 0; i < count; i++) {
        cJSON *run = json_append(runs, json_object());
        json_text(run, "name", tithe_trace_name(traces[i]));
        json_count(run, "records", tithe_trace_count(traces[i]));
    }
    json_item(json, "runs", runs);
    return json;
}

static int report(char **paths, int count, const char *out, const char *title, const char *json, bool quiet)
{
    tithe_trace **traces = text_memory((size_t)count * sizeof(tithe_trace *));
    tithe_error error = {0};
    int result = EXIT_DONE, read = 0;
    while (!result && read < count) {
        text_progress("reading %d of %d", read + 1, count);
        if (read_trace(paths[read], &traces[read]))
            read++;
        else
            result = EXIT_BAD;
    }
    text_progress_end();
    if (!result) {
        const tithe_status status =
            tithe_report_write(out, title, (const tithe_trace *const *)traces, (size_t)count, &error);
        if (status)
            result = text_fail_status(NULL, status, &error);
        else if (json && !json_write(json, report_json(out, traces, count)))
            result = EXIT_BAD;
        else if (!quiet)
            printf("%s: %d run%s; open it in a browser\n", out, count, count == 1 ? "" : "s");
    }
    for (int i = 0; i < read; i++) tithe_trace_free(traces[i]);
    free(traces);
    return result;
}

int cmd_report(int argc, char **argv)
{
    const char *out = "report.html", *title = NULL, *json = NULL;
    const option options[] = {
        option_text("out", "FILE", "where the page goes (default report.html); - is standard output", &out),
        option_text("title", "TEXT", "what stands at its top", &title),
        option_json(&json),
        option_end(),
    };
    const command c = {
        .positionals = "TRACE...",
        .min = 1,
        .max = -1,
        .summary =
            "Draw the runs of these traces on one HTML page: loss against steps, bytes, cost or seconds, "
            "what "
            "was sent and what was kept, where the time went, and a table of the results with the command "
            "of each run. The page is one file and needs no network. A TRACE of - is standard input.",
        .options = options,
        .examples = "  tithe report run.csv\n"
                    "  tithe report dense.csv topk.csv cat.csv --out compare.html --title 'Top-k on a9a'",
    };
    int count, status;
    if (!options_parse(&c, argc, argv, &count, &status)) return status;
    bool quiet;
    if (!file_outputs(
            (const file_output[]){{"--out", out, false}, {"--json", json, false}, {NULL, NULL, false}},
            &quiet))
        return EXIT_BAD;
    if (is_input(out, argv, count))
        return text_fail("'%s' is one of the traces, so the page must go elsewhere", out);
    return report(argv, count, out, title, json, quiet);
}
