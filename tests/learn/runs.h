/* runs.h - data sets that are made on the spot, runs on them, and what they left behind. */
#ifndef TESTS_LEARN_RUNS_H
#define TESTS_LEARN_RUNS_H

#include "model/problems.h"
#include "tithe/learn.h"

/* The share of all workers. */
static inline tithe_data *shared_data(const char *source, tithe_task task, unsigned workers,
                                      tithe_split split)
{
    tithe_data *all = NULL, *share = NULL;
    tithe_error error = {0};
    if (tithe_data_open(source, &(tithe_data_options){.task = task}, &all, &error) ||
        tithe_data_share(all, workers, split, 1, 0, workers, &share, &error))
        fail_msg("%s: %s", source, error.text);
    tithe_data_free(all);
    return share;
}

static inline tithe_train_options train_defaults(void)
{
    tithe_train_options o = {.size = sizeof o};
    tithe_train_defaults(&o);
    return o;
}

enum { MAX_RECORDS = 4096 };

/* One run: set `o`, call run_it, look. */
typedef struct trial {
    tithe_train_options o;
    tithe_train_result result;
    tithe_error error;
    tithe_train_facts facts; /* what they point to is gone after the run */
    tithe_problem problem;
    size_t count;
    tithe_trace_record records[MAX_RECORDS];
    double x[1024];
} trial;

static inline void trial_begin(void *context, const tithe_train_facts *facts)
{
    trial *t = context;
    t->facts = *facts;
    t->problem = *facts->problem;
}

static inline bool trial_record(void *context, const tithe_trace_record *record)
{
    trial *t = context;
    if (t->count < MAX_RECORDS) t->records[t->count++] = *record;
    return true;
}

static inline trial *trial_of(const char *data)
{
    trial *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->o = train_defaults();
    t->o.data = data;
    t->o.cache = "";
    t->o.threads = 1;
    return t;
}

static inline tithe_status trial_try(trial *t)
{
    t->o.context = t;
    t->o.begin = trial_begin;
    t->o.record = trial_record;
    t->count = 0;
    t->result.x = t->x;
    t->result.x_room = sizeof t->x / sizeof *t->x;
    return tithe_train_run(&t->o, &t->result, &t->error);
}

static inline void trial_run(trial *t)
{
    const tithe_status status = trial_try(t);
    expect(status == TITHE_OK, "%s, %s: %s", t->o.data, t->o.codec ? t->o.codec : "all|raw", t->error.text);
}

#endif
