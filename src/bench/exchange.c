/* exchange.c - rows that are whole steps of an exchange, or an all-reduce alone, with all ranks in this process. */
#include <math.h>
#include <stdlib.h>

#include "bench/job.h"
#include "kernels/kernels.h"
#include "tithe/exchange.h"

enum { MAX_RANKS = 4 };

struct bench_group_of_ranks {
    tithe_comm *comm;
    tithe_exchange *ex;
    const tithe_collective *how;
    float *vectors[MAX_RANKS]; /* of an all-reduce, which writes over them */
};

void ti_bench_ranks_free(struct bench_group_of_ranks *g)
{
    if (!g) return;
    tithe_exchange_free(g->ex);
    tithe_comm_free(g->comm);
    for (int i = 0; i < MAX_RANKS; i++) free(g->vectors[i]);
    free(g);
}

/* There are two vectors at hand; ranks take turns. */
static const float *gradient(const bench_job *job, unsigned rank)
{
    return rank % 2 ? job->v->start : job->v->x;
}

static tithe_status make(const bench_job *job, struct bench_group_of_ranks **made, tithe_error *error)
{
    struct bench_group_of_ranks *g = calloc(1, sizeof *g);
    if (!g) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the ranks.");
    *made = g;
    return tithe_comm_local(job->row->ranks, &g->comm, error);
}

/* ---- a step: gradients in, update out ---------------------------------------------------------------------- */

static tithe_status open_exchange(const bench_job *job, struct bench_group_of_ranks **made,
                                  tithe_error *error)
{
    const tithe_scheme *scheme = NULL;
    const tithe_feedback *ec = NULL;
    tithe_status status = make(job, made, error);
    if (!status) status = tithe_scheme_find(job->row->scheme, &scheme, NULL, error);
    if (!status) status = tithe_feedback_find(scheme->whole ? "none" : "ec", &ec, NULL, error);
    if (status) return status;
    const tithe_exchange_config config = {.size = sizeof(tithe_exchange_config),
                                          .comm = (*made)->comm,
                                          .codec = job->codec,
                                          .feedback = ec,
                                          .downlink = scheme->back ? job->codec_back : NULL,
                                          .scheme = job->row->scheme,
                                          .seed = 1,
                                          .pool = job->call.pool,
                                          .lanes = 1};
    return tithe_exchange_create(&config, job->v->n, &(*made)->ex, error);
}

static tithe_status step_open(bench_job *job, tithe_error *error)
{
    const tithe_codec_options contractive = {.contractive = true};
    tithe_status status = tithe_codec_create(job->row->spec, &contractive, &job->codec, error);
    if (!status) status = tithe_codec_create("all|natural", NULL, &job->codec_back, error);
    return status ? status : open_exchange(job, &job->ranks, error);
}

static tithe_status step(const bench_job *job, struct bench_group_of_ranks *g, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < tithe_comm_size(g->comm) && !status; r++)
        status = tithe_exchange_put(g->ex, r, 0, gradient(job, r), 0.1, error);
    return status ? status : tithe_exchange_finish(g->ex, job->v->y, error);
}

static tithe_status step_run(bench_job *job, tithe_error *error)
{
    return step(job, job->ranks, error);
}

/* A fresh exchange, with the kernels in use and with those that define every result. */
static const char *step_wrong(bench_job *job)
{
    const bench_vectors *v = job->v;
    struct bench_group_of_ranks *fresh[2] = {NULL, NULL};
    float *mine = malloc(v->n * sizeof *mine);
    tithe_status status = mine ? open_exchange(job, &fresh[0], NULL) : TITHE_E_MEMORY;
    if (!status) status = open_exchange(job, &fresh[1], NULL);
    if (!status) status = step(job, fresh[0], NULL);
    if (!status) {
        memcpy(mine, v->y, v->n * sizeof *mine);
        const kernels *used = ti_kernels_force(&ti_kernels_ref);
        status = step(job, fresh[1], NULL);
        ti_kernels_force(used);
    }
    const bool same = !status && memcmp(mine, v->y, v->n * sizeof *mine) == 0;
    free(mine);
    for (int i = 0; i < 2; i++) ti_bench_ranks_free(fresh[i]);
    return same ? NULL : "the update is not that of the reference kernels";
}

const bench_kind ti_bench_step = {.open = step_open, .run = step_run, .wrong = step_wrong};

/* ---- an all-reduce alone ------------------------------------------------------------------------------------ */

static tithe_status reduce_open(bench_job *job, tithe_error *error)
{
    tithe_status status = make(job, &job->ranks, error);
    if (status) return status;
    status = tithe_collective_find(job->row->scheme, &job->ranks->how, NULL, error);
    if (status) return status;
    for (unsigned r = 0; r < job->row->ranks; r++) {
        job->ranks->vectors[r] = malloc(job->v->n * sizeof(float));
        if (!job->ranks->vectors[r])
            return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the ranks.");
    }
    return TITHE_OK;
}

static void reduce_before(bench_job *job)
{
    for (unsigned r = 0; r < job->row->ranks; r++)
        memcpy(job->ranks->vectors[r], gradient(job, r), job->v->n * sizeof(float));
}

static tithe_status reduce_run(bench_job *job, tithe_error *error)
{
    return tithe_all_reduce(job->ranks->comm, job->ranks->how, job->ranks->vectors, job->v->n, NULL, error);
}

static const char *reduce_wrong(bench_job *job)
{
    for (size_t i = 0; i < job->v->n; i++) {
        double sum = 0, sizes = 0;
        for (unsigned r = 0; r < job->row->ranks; r++) {
            sum += (double)gradient(job, r)[i];
            sizes += fabs((double)gradient(job, r)[i]);
        }
        for (unsigned r = 0; r < job->row->ranks; r++)
            if (!(fabs((double)job->ranks->vectors[r][i] - sum) <= 1e-6 * sizes))
                return "a rank has another sum";
    }
    return NULL;
}

const bench_kind ti_bench_all_reduce = {
    .open = reduce_open, .before = reduce_before, .run = reduce_run, .wrong = reduce_wrong};
