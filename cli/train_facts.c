/* train_facts.c - see train_facts.h. */
#include "train_facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what has a form of its own in JSON ---------------------------------------------------------------- */

static cJSON *target_json(const tithe_train_result *r)
{
    return r->target == TITHE_NO_TARGET ? cJSON_CreateNull()
                                        : cJSON_CreateBool(r->target == TITHE_TARGET_REACHED);
}

/* What the messages of the run say about the link; null where there was none, or too little was sent. */
static cJSON *link_json(const tithe_train_result *r)
{
    cJSON *json = json_object();
    json_number(json, "latency_s", r->link.latency);
    json_number(json, "bandwidth_Bps", r->link.bandwidth);
    json_number(json, "probe_bytes", r->probe_bytes);
    return json;
}

/* Steps in theory: without compression, with this run's, with the worst vector's. */
static cJSON *complexity_json(const tithe_train_result *r)
{
    const tithe_complexity *c = &r->complexity;
    cJSON *json = json_object();
    const struct {
        const char *name;
        const double *steps;
    } rows[] = {{"strongly_convex", c->strongly_convex}, {"convex", c->convex}, {"nonconvex", c->nonconvex}};
    json_number(json, "gap", c->gap);
    for (int i = 0; i < 3; i++) {
        cJSON *row = json_object();
        json_number(row, "none", rows[i].steps[0]);
        json_number(row, "data", rows[i].steps[1]);
        json_number(row, "worst", rows[i].steps[2]);
        json_item(json, rows[i].name, row);
    }
    return json;
}

/* ---- the table ----------------------------------------------------------------------------------------- */

typedef enum fact_kind {
    FACT_TEXT,    /* const char * */
    FACT_LETTERS, /* char [] */
    FACT_NUMBER,  /* double */
    FACT_COUNT,   /* uint64_t */
    FACT_WHOLE,   /* unsigned */
    FACT_YES,     /* bool */
    FACT_ITEM     /* as `item` has it */
} fact_kind;

typedef struct fact {
    const char *key;
    fact_kind kind;
    size_t offset; /* in tithe_train_result */
    cJSON *(*item)(const tithe_train_result *r);
} fact;

#define FACT(key, kind, field)                                      \
    {                                                               \
        key, FACT_##kind, offsetof(tithe_train_result, field), NULL \
    }
#define ITEM(key, item)         \
    {                           \
        key, FACT_ITEM, 0, item \
    }

/* In the order of the JSON. */
static const fact answers[] = {
    FACT("steps", COUNT, steps),
    FACT("epochs", NUMBER, last.epochs),
    FACT("loss", NUMBER, last.loss),
    FACT("gap", NUMBER, last.gap),
    FACT("accuracy", NUMBER, last.accuracy),
    FACT("average_loss", NUMBER, last.average_loss),
    FACT("average_gap", NUMBER, last.average_gap),
    ITEM("target_reached", target_json),
    FACT("uplink_bytes", NUMBER, last.uplink_bytes),
    FACT("downlink_bytes", NUMBER, last.downlink_bytes),
    FACT("sent_bytes", NUMBER, last.sent_bytes),
    FACT("setup_bytes", NUMBER, last.setup_bytes),
    FACT("cost", NUMBER, last.cost),
    FACT("downlink_cost", NUMBER, last.downlink_cost),
    FACT("cost_unit", TEXT, facts.cost_unit),
    FACT("paper_bits", NUMBER, last.paper_bits),
    FACT("seconds", NUMBER, last.seconds),
    FACT("setup_seconds", NUMBER, last.setup_seconds),
    FACT("record_seconds", NUMBER, last.record),
    FACT("buckets", WHOLE, facts.buckets),
    FACT("messages", NUMBER, last.messages),
    FACT("skipped", NUMBER, last.skipped),
    FACT("overlap_seconds", NUMBER, last.overlap),
    FACT("model_hash", LETTERS, model_hash),
    FACT("transport", TEXT, facts.transport),
    FACT("scheme", TEXT, facts.scheme),
    FACT("collective", TEXT, facts.collective),
    FACT("codec", LETTERS, facts.codec),
    FACT("downlink", LETTERS, facts.downlink),
    FACT("tuner", LETTERS, facts.tuner),
    FACT("estimator", TEXT, facts.estimator),
    FACT("L", NUMBER, facts.constants.L),
    FACT("L_US", NUMBER, facts.constants.L_US),
    FACT("L_IS", NUMBER, facts.constants.L_IS),
    FACT("sigma_star_squared", NUMBER, facts.constants.sigma_star),
    FACT("zeta_star_squared", NUMBER, facts.constants.zeta_star),
    FACT("unsent", NUMBER, last.unsent),
    FACT("kept_mean", NUMBER, kept_mean),
    FACT("kept_least", NUMBER, kept_least),
    FACT("speedup_mean", NUMBER, speedup_mean),
    FACT("speedup_least", NUMBER, speedup_least),
    FACT("residual_share", NUMBER, residual_max),
    FACT("restarts", WHOLE, restarts),
    FACT("bound_step_size", NUMBER, facts.bound_step_size),
    ITEM("link", link_json),
    ITEM("complexity", complexity_json),
    FACT("stopped", YES, stopped),
};
/* Of the trace alone. Its `cost` is the model's spec; what it came to is in the columns. */
static const fact of_trace[] = {
    FACT("data", LETTERS, facts.data_name),     FACT("rows", COUNT, facts.rows),
    FACT("features", COUNT, facts.features),    FACT("workers", WHOLE, facts.workers),
    FACT("model", LETTERS, facts.model),        FACT("l2", NUMBER, facts.l2),
    FACT("feedback", LETTERS, facts.feedback),  FACT("cost", LETTERS, facts.cost),
    FACT("step_size", NUMBER, facts.step_size), FACT("seed", COUNT, facts.seed),
    FACT("minimum", NUMBER, facts.optimum),     FACT("predicted_slowdown", NUMBER, facts.slowdown),
    FACT("hindsight", LETTERS, hindsight),      FACT("changes", WHOLE, changes),
};
enum { ANSWERS = sizeof answers / sizeof *answers, OF_TRACE = sizeof of_trace / sizeof *of_trace };

/* ---- what a row says ----------------------------------------------------------------------------------- */

/* NULL: nothing. */
static const char *text_of(const fact *f, const tithe_train_result *r)
{
    const void *at = (const char *)r + f->offset;
    const char *text = f->kind == FACT_TEXT ? *(const char *const *)at : at;
    return text && *text ? text : NULL;
}

static double number_of(const fact *f, const tithe_train_result *r)
{
    return *(const double *)(const void *)((const char *)r + f->offset);
}

static uint64_t count_of(const fact *f, const tithe_train_result *r)
{
    const void *at = (const char *)r + f->offset;
    return f->kind == FACT_COUNT ? *(const uint64_t *)at : *(const unsigned *)at;
}

/* ---- for a trace --------------------------------------------------------------------------------------- */

static const fact *find(const char *key)
{
    for (size_t i = 0; i < OF_TRACE; i++)
        if (strcmp(of_trace[i].key, key) == 0) return &of_trace[i];
    for (size_t i = 0; i < ANSWERS; i++)
        if (strcmp(answers[i].key, key) == 0) return &answers[i];
    return NULL;
}

bool train_fact(const tithe_train_result *r, const char *key, char *text, size_t room)
{
    const fact *f = find(key);
    if (!f) return false;
    const bool is_text = f->kind == FACT_TEXT || f->kind == FACT_LETTERS, is_number = f->kind == FACT_NUMBER;
    if (is_text)
        snprintf(text, room, "%s", text_of(f, r) ? text_of(f, r) : "");
    else if (is_number)
        snprintf(text, room, "%.9g", number_of(f, r));
    else
        snprintf(text, room, "%" PRIu64, count_of(f, r));
    return is_number ? !isnan(number_of(f, r)) : *text != 0;
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

/* Counters that nobody has given a place: at the end, as the last record has them. */
static void counters_json(cJSON *json, const tithe_trace_record *last)
{
    for (const tithe_counter *c = tithe_counters(); c->name; c++) {
        const tithe_column *column = tithe_columns();
        while (column->name && strcmp(column->name, c->name) != 0) column++;
        if (column->name && c->flags & TITHE_COUNTER_ALL && !cJSON_HasObjectItem(json, c->name))
            json_number(json, c->name, *(const double *)(const void *)((const char *)last + column->offset));
    }
}

/* Of a tuner that steers alone. */
static cJSON *steering_json(const tithe_train_result *r)
{
    cJSON *json = json_object();
    json_text(json, "setting", r->setting);
    json_text(json, "hindsight", *r->hindsight ? r->hindsight : NULL);
    json_count(json, "changes", r->changes);
    return json;
}

cJSON *train_facts_json(const tithe_train_result *r)
{
    cJSON *json = json_object();
    for (const fact *f = answers; f < answers + ANSWERS; f++) switch (f->kind) {
        case FACT_TEXT:
        case FACT_LETTERS: json_text(json, f->key, text_of(f, r)); break;
        case FACT_NUMBER: json_number(json, f->key, number_of(f, r)); break;
        case FACT_COUNT:
        case FACT_WHOLE: json_count(json, f->key, count_of(f, r)); break;
        case FACT_YES: json_bool(json, f->key, *(const bool *)((const char *)r + f->offset)); break;
        case FACT_ITEM: json_item(json, f->key, f->item(r)); break;
        }
    counters_json(json, &r->last);
    if (*r->setting) json_item(json, "steering", steering_json(r));
    return json;
}
