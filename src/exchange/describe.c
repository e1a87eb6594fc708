/* describe.c - an exchange in words and numbers, as JSON: for languages that cannot read its structs. */
#include <stdio.h>

#include "base/json.h"
#include "base/spec.h"
#include "exchange/control.h"

static void describe_totals(const tithe_exchange *ex, json *j)
{
    ti_json_open(j, "totals", '{');
    for (const tithe_counter *c = tithe_counters(); c->name; c++)
        ti_json_number(j, c->name, tithe_counter_of(&ex->totals, c));
    ti_json_close(j, '}');
}

static void describe_last(const tithe_exchange_record *last, json *j)
{
    ti_json_open(j, "last", '{');
    ti_json_number(j, "step", (double)last->step);
    ti_json_number(j, "level", last->level);
    ti_json_number(j, "level_least", last->level_least);
    ti_json_number(j, "level_most", last->level_most);
    ti_json_number(j, "energy", last->energy);
    ti_json_number(j, "unsent", last->unsent);
    ti_json_number(j, "kept", last->kept);
    ti_json_number(j, "residual", last->residual);
    ti_json_number(j, "leader", last->leader);
    ti_json_string(j, "reason", last->reason);
    ti_json_close(j, '}');
}

static void describe_steering(const tithe_exchange *ex, json *j)
{
    tithe_steering now = {.size = sizeof now};
    if (!tithe_exchange_steering(ex, &now)) return;
    ti_json_open(j, "steering", '{');
    ti_json_string(j, "options", now.options);
    ti_json_string(j, "reason", now.reason);
    ti_json_number(j, "changes", now.changes);
    ti_json_number(j, "settings", now.settings);
    ti_json_close(j, '}');
}

/* With its parameters. */
static void describe_feedback(const tithe_exchange_config *c, char *spec, size_t room)
{
    if (c->feedback->params && c->feedback_params)
        ti_spec_write(spec, room, c->feedback->name, c->feedback->params, c->feedback_params);
    else
        snprintf(spec, room, "%s", c->feedback->name);
}

char *tithe_exchange_describe(const tithe_exchange *ex)
{
    const tithe_exchange_config *c = &ex->config;
    json j = {0};
    ti_json_open(&j, NULL, '{');
    ti_json_number(&j, "n", (double)ex->n);
    ti_json_number(&j, "ranks", c->comm->size);
    ti_json_number(&j, "rank", c->comm->first);
    ti_json_string(&j, "transport", tithe_comm_transport(c->comm));
    ti_json_string(&j, "codec", tithe_codec_spec(c->codec));
    ti_json_string(&j, "downlink", c->downlink ? tithe_codec_spec(c->downlink) : NULL);
    char feedback[60];
    describe_feedback(c, feedback, sizeof feedback);
    ti_json_string(&j, "feedback", feedback);
    ti_json_number(&j, "momentum", c->momentum);
    ti_json_string(&j, "tuner", ex->control ? ex->control->tuner->name : c->tuner->name);
    ti_json_string(&j, "scheme", ex->last.scheme);
    ti_json_string(&j, "collective", ex->last.collective);
    ti_json_bool(&j, "served", ex->scheme->served);
    ti_json_number(&j, "buckets", tithe_exchange_buckets(ex));
    ti_json_number(&j, "steps", ex->step);
    describe_totals(ex, &j);
    if (ex->step > 0) describe_last(&ex->last, &j);
    describe_steering(ex, &j);
    ti_json_close(&j, '}');
    return ti_json_done(&j);
}
