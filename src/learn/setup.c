/* setup.c - see setup.h. L, the default penalty and the minimum are those of the whole data in the order of its file, so they are
 * the same to the last bit whatever the workers, the split and the transport are. Every process has read all of it, so rank 0
 * finds them alone and tells the others: numbers travel, never vectors. */
#include "learn/setup.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "comm/comm.h"
#include "learn/checkpoint.h"
#include "model/constants.h"

/* ---- the whole of the data --------------------------------------------------------------------------------- */

enum { MAX_PARTS = 64 };

/* A view of data that are not split, in parts for the threads of a pool. How many depends on the data alone. */
typedef struct whole {
    tithe_data data;
    size_t begin[MAX_PARTS + 1];
} whole;

/* Adding up the parts' sums has to be little work beside the rows. */
static unsigned parts_of(const tithe_data *all)
{
    const double parts = (double)all->nonzeros / (16.0 * (double)all->features);
    const double max = fmin(MAX_PARTS, (double)all->rows);
    return (unsigned)fmax(1, fmin(parts, max));
}

static void look_at_whole(const tithe_data *all, whole *w)
{
    const unsigned parts = parts_of(all);
    w->data = *all;
    for (unsigned p = 0; p <= parts; p++) w->begin[p] = (size_t)((double)all->rows * p / parts);
    w->data.begin = w->begin;
    w->data.workers = w->data.local = parts;
    w->data.total_rows = all->rows;
}

/* ---- a sign of life ---------------------------------------------------------------------------------------- */

/* While rank 0 is at work the others wait, and a server does, too: in time they hear that there is more to come, and rank 0
 * hears whether one of them wants to stop. */
typedef struct at_work {
    run *r;
    const char *what;
    double told; /* when */
    tithe_status status;
    tithe_error *error;
} at_work;

/* *more_to_come becomes what rank 0 says. */
static tithe_status tell(run *r, double *more_to_come, tithe_error *error)
{
    double values[] = {r->stop.asked, *more_to_come};
    if (!run_is_remote(r)) return TITHE_OK;
    r->comm->phase = "waiting for the first rank's set-up";
    const tithe_status status = ti_comm_fold(r->comm, COMM_ASK, values, 2, error);
    r->comm->phase = NULL;
    if (values[0] > 0) r->stop.stopped = true; /* one wants to: all do */
    *more_to_come = values[1];
    return status;
}

static bool go_on(void *context)
{
    at_work *a = context;
    const double timeout = a->r->comm->timeout, enough = timeout > 0 ? fmin(1, timeout / 8) : 1;
    ti_run_progress(a->r, a->what, NAN);
    if (!a->status && clock_now() - a->told > enough) {
        double more = 1;
        a->status = tell(a->r, &more, a->error);
        a->told = clock_now();
    }
    return !a->status && !a->r->stop.asked && !a->r->stop.stopped;
}

static tithe_status wait_for_first_rank(run *r, tithe_error *error)
{
    double more = 1;
    while (more > 0) {
        ti_run_progress(r, "waiting for the first rank's set-up", NAN);
        more = 0;
        const tithe_status status = tell(r, &more, error);
        if (status) return status;
    }
    return TITHE_OK;
}

/* ---- what has to be found ---------------------------------------------------------------------------------- */

static bool wants_minimum(const run *r)
{
    const tithe_train_options *o = r->o;
    return o->exact || !isnan(o->target_gap) || (!run_is_remote(r) && !o->no_optimum);
}

static bool wants_L(const run *r)
{
    return r->o->l2 < 0 || isnan(r->steps.start) || wants_minimum(r);
}

/* In the order in which they are handed out. */
typedef struct numbers {
    double L, l2, certified, loss, slack, distance, sigma, sigma_star, sigma_star_IS, zeta_star;
} numbers;
enum { NUMBERS = sizeof(numbers) / sizeof(double) };

/* At the minimum, of the workers' rows. */
static tithe_status find_noise(const run *r, const tithe_data *all, const double *x, numbers *n,
                               tithe_error *error)
{
    const tithe_train_options *o = r->o;
    tithe_data *rows = NULL; /* of all workers, where only some are here */
    tithe_problem p = r->problem;
    sampling drawn = r->estimate.rows;
    tithe_constants c = {0};
    tithe_status status = TITHE_OK;
    p.comm = NULL;
    p.l2 = n->l2;
    if (run_is_remote(r)) {
        status = tithe_data_share(all, r->comm->size, o->split, o->seed, 0, r->comm->size, &rows, error);
        p.data = rows;
        drawn = (sampling){0};
        if (!status) status = ti_sampling_make(r->sampling, o->sampling, &p, &drawn, error);
    }
    if (!status) status = ti_noise(&p, r->pool, x, drawn.weights, &c, &n->sigma, error);
    n->sigma_star = c.sigma_star;
    n->sigma_star_IS = c.sigma_star_IS;
    n->zeta_star = c.zeta_star;
    if (run_is_remote(r)) ti_sampling_free(&drawn);
    tithe_data_free(rows);
    return status;
}

static tithe_status find_minimum(at_work *a, const tithe_problem *p, const tithe_data *all, numbers *n)
{
    const run *r = a->r;
    tithe_optimum found = {.loss = NAN, .go_on = go_on, .context = a};
    if (!wants_minimum(r) && r->o->no_optimum) return TITHE_OK;
    if (!p->model->convex || !(p->l2 > 0)) return TITHE_OK;
    found.x = calloc(p->size, sizeof *found.x);
    if (!found.x) return ti_fail(a->error, TITHE_E_MEMORY, 0, "There is not enough memory for the optimum.");
    a->what = "looking for the minimum";
    ti_run_progress(a->r, a->what, NAN);
    tithe_status status = ti_optimum_find(p, r->pool, r->o->cache, wants_minimum(r), &found, a->error);
    if (!status && found.certified) {
        n->certified = 1;
        n->loss = found.loss;
        n->slack = found.slack;
        n->distance = 0;
        for (size_t i = 0; i < p->size; i++) {
            const double d = r->x[i] - found.x[i];
            n->distance += d * d;
        }
        a->told = 0; /* what follows takes a while */
        go_on(a);
        status = find_noise(r, all, found.x, n, a->error);
    }
    free(found.x);
    return status;
}

static tithe_status find_numbers(at_work *a, const tithe_data *all, numbers *n)
{
    run *r = a->r;
    whole w;
    tithe_problem p;
    look_at_whole(all, &w);
    n->l2 = r->o->l2 < 0 ? ti_checkpoint_l2(r) : r->o->l2;
    tithe_status status =
        tithe_problem_make(r->o->model, &w.data, n->l2 > 0 ? n->l2 : 0, NULL, r->pool, &p, a->error);
    if (!status && wants_L(r)) {
        const patience asked = {go_on, a};
        a->what = "smoothness constants";
        ti_run_progress(r, a->what, NAN);
        status = ti_smoothness(&p, r->pool, &asked, &n->L, a->error);
    }
    const bool cut = wants_L(r) && (r->stop.asked || r->stop.stopped);
    if (cut) n->L = NAN; /* the search has ended early, so what it found is too small */
    if (isnan(n->l2) && !cut) n->l2 = n->L > 0 ? n->L / 1e4 : 0;
    p.l2 = n->l2;
    return status ? status : find_minimum(a, &p, all, n);
}

static void take(run *r, const numbers *n)
{
    r->set_up.cut = isnan(n->l2);
    r->problem.l2 = r->set_up.cut ? 0 : n->l2;
    r->constants = (tithe_constants){.L = n->L,
                                     .L_mean = NAN,
                                     .L_US = NAN,
                                     .L_IS = NAN,
                                     .sigma_star = n->sigma_star,
                                     .sigma_star_IS = n->sigma_star_IS,
                                     .zeta_star = n->zeta_star};
    r->optimum = (tithe_optimum){.certified = n->certified > 0, .loss = n->loss, .slack = n->slack};
    r->distance = n->distance;
    r->sigma = n->sigma;
}

tithe_status ti_run_set_up(run *r, const tithe_data *all, tithe_error *error)
{
    numbers n = {NAN, NAN, 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    tithe_status status;
    if (r->comm->first == 0) {
        at_work a = {.r = r, .told = clock_now(), .error = error};
        double none = 0;
        status = find_numbers(&a, all, &n);
        if (a.status) status = a.status;
        if (!status) status = tell(r, &none, error);
    } else {
        n = (numbers){0}; /* which are added to the first rank's */
        status = wait_for_first_rank(r, error);
    }
    if (!status) status = ti_comm_fold(r->comm, COMM_SUM, &n.L, NUMBERS, error);
    if (status) return status;
    take(r, &n);
    return wants_L(r) ? ti_row_constants(&r->problem, &r->constants, error) : TITHE_OK;
}
