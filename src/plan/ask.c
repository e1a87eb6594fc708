/* ask.c - a plan from text, and its rows as JSON: for languages that cannot write structs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/options.h"
#include "base/status.h"
#include "tithe/cost.h"
#include "tithe/plan.h"

enum { MAX_KEEPS = 64, MAX_CODECS = 16 };

typedef struct ask_options {
    double params;
    unsigned workers;
    const char *link, *keep, *codecs;
    bool paper, speed;
} ask_options;

#define OPTIONS ask_options
static const tithe_option table[] = {
    {"params", "N", "numbers in a gradient", NULL, TITHE_OPTION_REAL, 0, OPTION_PLACE(params), .real_min = 1,
     .real_max = 1e15, .unset = NAN},
    {"workers", "N", "how many there are", NULL, TITHE_OPTION_WHOLE, 0, OPTION_PLACE(workers), .min = 1,
     .max = TITHE_PLAN_WORKERS},
    {"link", "SPEC", "alphabeta:latency=TIME,bandwidth=RATE, or table:FILE as tithe probe writes it",
     "alphabeta:latency=1ms,bandwidth=1Gbit", TITHE_OPTION_TEXT, 0, OPTION_PLACE(link)},
    {"keep", "LIST", "shares of the coordinates to send, with commas between them", "0.1,0.01,0.001",
     TITHE_OPTION_TEXT, 0, OPTION_PLACE(keep)},
    {"codecs", "LIST", "codecs to plan besides, with blanks between them", NULL, TITHE_OPTION_TEXT, 0,
     OPTION_PLACE(codecs)},
    {"count", "frame|paper", "real frames, or the paper's formulas", "frame", TITHE_OPTION_CHOICE, 0,
     OPTION_PLACE(paper), .choices = "frame|paper"},
    {"speed", "off|on", "measure what encoding and decoding take here, for about a second, and count it",
     "off", TITHE_OPTION_CHOICE, 0, OPTION_PLACE(speed), .choices = "off|on"},
    {.name = NULL},
};

const tithe_option *tithe_plan_option_table(void)
{
    return table;
}

/* What is asked for, with all that the request points to. */
typedef struct question {
    ask_options options;
    tithe_cost *link;
    double keeps[MAX_KEEPS];
    tithe_plan_codec codecs[MAX_CODECS];
    tithe_plan_request request;
} question;

static tithe_status read_keeps(question *q, tithe_error *error)
{
    const char *at = q->options.keep;
    size_t *count = &q->request.keep_count;
    for (char *end; *count < MAX_KEEPS; at = end + 1) {
        q->keeps[(*count)++] = strtod(at, &end);
        if (end == at || (*end && *end != ',')) break;
        if (!*end) return TITHE_OK;
    }
    return ti_fail(error, TITHE_E_ARGUMENT, 0,
                   "`keep` takes up to %d shares with commas between them, such as 0.1,0.01, not '%.60s'.",
                   MAX_KEEPS, q->options.keep);
}

/* The text is the caller's copy, and is cut. */
static tithe_status read_codecs(question *q, tithe_error *error)
{
    char *rest = NULL, *text = (char *)q->options.codecs;
    for (char *spec = text ? strtok_r(text, " ", &rest) : NULL; spec; spec = strtok_r(NULL, " ", &rest)) {
        if (q->request.codec_count == MAX_CODECS)
            return ti_fail(error, TITHE_E_ARGUMENT, 0,
                           "`codecs` takes up to %d codecs with blanks between them.", MAX_CODECS);
        q->codecs[q->request.codec_count++].spec = spec;
    }
    return TITHE_OK;
}

static tithe_status measure(question *q, tithe_error *error)
{
    if (!q->options.speed) return TITHE_OK;
    tithe_status status = tithe_speed_measure(&q->request.speed, error);
    for (size_t i = 0; i < q->request.codec_count && !status; i++)
        status = tithe_speed_measure_codec(&q->codecs[i], error);
    return status;
}

static tithe_status read_question(char *text, question *q, tithe_error *error)
{
    tithe_status status = tithe_options_read(table, text, &q->options, error);
    if (!status && (isnan(q->options.params) || !q->options.workers))
        status = ti_fail(error, TITHE_E_ARGUMENT, 0,
                         "Say how long the gradient is and how many workers there are: "
                         "params=25557032;workers=8.");
    q->request = (tithe_plan_request){.params = floor(q->options.params),
                                      .workers = q->options.workers,
                                      .keeps = q->keeps,
                                      .codecs = q->codecs,
                                      .count_paper = q->options.paper};
    if (!status) status = tithe_cost_create(q->options.link, &q->link, error);
    if (!status) status = tithe_link_of_cost(q->link, &q->request.link, error);
    if (!status) status = read_keeps(q, error);
    if (!status) status = read_codecs(q, error);
    return status ? status : measure(q, error);
}

/* ---- the answer ------------------------------------------------------------------------------------------- */

static void add_row(json *j, const char *key, const tithe_plan_row *row)
{
    ti_json_open(j, key, '{');
    ti_json_string(j, "scheme", row->scheme);
    ti_json_string(j, "collective", row->collective);
    ti_json_string(j, "codec", row->codec);
    ti_json_number(j, "keep", row->keep);
    ti_json_number(j, "rounds", row->rounds);
    ti_json_number(j, "bytes", row->bytes);
    ti_json_number(j, "network_seconds", row->network_seconds);
    ti_json_number(j, "codec_seconds", row->codec_seconds);
    ti_json_number(j, "seconds", row->seconds);
    if (row->network_most > row->network_seconds)
        ti_json_number(j, "network_seconds_most", row->network_most);
    ti_json_string(j, "options", row->options);
    ti_json_close(j, '}');
}

static char *write_answer(const tithe_plan_request *q, const tithe_plan_row *rows, const tithe_plan *plan)
{
    json j = {0};
    ti_json_open(&j, NULL, '{');
    ti_json_number(&j, "params", q->params);
    ti_json_number(&j, "workers", q->workers);
    ti_json_number(&j, "latency", q->link.latency);
    ti_json_number(&j, "bandwidth", q->link.bandwidth);
    ti_json_open(&j, "rows", '[');
    for (size_t i = 0; i < tithe_plan_rows(q); i++) add_row(&j, NULL, &rows[i]);
    ti_json_close(&j, ']');
    add_row(&j, "winner", &rows[plan->winner]);
    add_row(&j, "network_winner", &rows[plan->network_winner]);
    add_row(&j, "dense", &rows[plan->dense]);
    ti_json_number(&j, "break_even", plan->break_even);
    ti_json_bool(&j, "pays", plan->winner != plan->dense);
    ti_json_close(&j, '}');
    return ti_json_done(&j);
}

static tithe_status answer(const tithe_plan_request *request, char **made, tithe_error *error)
{
    tithe_plan plan;
    tithe_plan_row *rows = calloc(tithe_plan_rows(request), sizeof *rows);
    if (!rows) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a plan.");
    const tithe_status status = tithe_plan_make(request, rows, &plan, error);
    char *text = status ? NULL : write_answer(request, rows, &plan);
    free(rows);
    if (status) return status;
    if (!text) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a plan.");
    *made = text;
    return TITHE_OK;
}

tithe_status tithe_plan_ask(const char *options, char **answered, tithe_error *error)
{
    if (!options || !answered)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "Options such as params=1e6;workers=8 and a place for the answer are needed.");
    question q = {0};
    char *text = malloc(strlen(options) + 1);
    if (!text) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a plan.");
    memcpy(text, options, strlen(options) + 1);
    tithe_status status = read_question(text, &q, error);
    if (!status) status = answer(&q.request, answered, error);
    tithe_cost_free(q.link);
    free(text);
    return status;
}
