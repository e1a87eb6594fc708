/* control_live.c - what a controller has to know where ranks live in several processes: the link before the first step, how
 * long codecs take here, and what steps take beside their messages. All of it is made the same on all ranks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "codec/codec.h"
#include "exchange/control.h"

/* Of the time so far, for messages that turn out to be slower than shorter ones promised; and what is slower. */
static const double TRIES = 0.01, WRONG = 1.25;
static const double FORGETS = 17.0 / 16, /* how much faster longer messages may be, */
    FORGETS_IN = 20;                     /* in so many steps */

/* ---- the link, by a few messages --------------------------------------------------------------------------- */

enum { SHORT_PINGS = 3, FIRST_PING = 1 << 14, LAST_PING = 1 << 20 };
static const double LONG_ENOUGH =
    5e-3; /* seconds that a message must take longer than a short one to tell anything */

/* Of all processes the most: each has what it measured, or 0. */
static tithe_status ping(tithe_comm *comm, unsigned rank, uint64_t length, double *seconds,
                         tithe_error *error)
{
    *seconds = 0;
    const tithe_status status = ti_comm_ping(comm, rank, length, seconds, error);
    return status ? status : ti_comm_fold(comm, COMM_MAX, seconds, 1, error);
}

/* Longer messages until one tells, or none does: then the link is as fast as the longest says, at least. */
static tithe_status probe_rank(tithe_comm *comm, unsigned rank, tithe_link *link, uint64_t *longest,
                               double *sent, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    double least = INFINITY, seconds = 0;
    for (unsigned i = 0; i < SHORT_PINGS && !status; i++) {
        status = ping(comm, rank, 1, &seconds, error);
        least = fmin(least, seconds);
        *sent += 2;
    }
    uint64_t length = FIRST_PING;
    for (; !status; length *= 8) {
        status = ping(comm, rank, length, &seconds, error);
        *sent += (double)length + 1; /* a byte comes back */
        if (seconds - least > LONG_ENOUGH || 8 * length > LAST_PING) break;
    }
    *link = (tithe_link){.latency = least / 2, .bandwidth = (double)length / fmax(seconds - least, 1e-6)};
    *longest = length;
    return status;
}

/* The slowest of a few links: what waits, waits for that one. */
static tithe_status probe(tithe_exchange *ex, tithe_link *link, uint64_t *longest, tithe_error *error)
{
    enum { MAX_RANKS = 4 };
    tithe_comm *comm = ex->config.comm;
    const unsigned first = ti_comm_has_own_server(comm) ? 0 : 1; /* rank 0 does not send to itself */
    const unsigned others = comm->size - first, count = others < MAX_RANKS ? others : MAX_RANKS;
    tithe_status status = TITHE_OK;
    *link = (tithe_link){.latency = 0, .bandwidth = INFINITY};
    comm->phase = "timing the link";
    for (unsigned i = 0; i < count && !status; i++) {
        tithe_link here = {0};
        uint64_t length = 0;
        status = probe_rank(comm, first + i * others / count, &here, &length,
                            &ex->control->estimate.look_bytes, error);
        link->latency = fmax(link->latency, here.latency);
        if (here.bandwidth < link->bandwidth) *longest = length;
        link->bandwidth = fmin(link->bandwidth, here.bandwidth);
    }
    comm->phase = NULL;
    if (first == 0 || comm->first == 0) ti_link_hear(comm, link->latency); /* who will hear again */
    return status;
}

/* ---- codecs --------------------------------------------------------------------------------------------------- */

enum { TRIAL = 1 << 18, TRIALS = 2 };

/* A bell, from a sum of four, below 2. */
static void fill(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = rng_mix(i * RNG_GOLDEN);
        x[i] = 0x1p-16f * ((float)(r & 0xffff) + (float)(r >> 16 & 0xffff) - (float)(r >> 32 & 0xffff) -
                           (float)(r >> 48));
    }
}

/* Seconds for each number of a vector to be encoded, and for each entry of its frame to be taken up. */
static tithe_status time_codec(const char *spec, size_t n, float *x, float *e, double *encode, double *decode,
                               tithe_error *error)
{
    tithe_codec *codec;
    const tithe_codec_options contractive = {.contractive = true};
    tithe_status status = tithe_codec_create(spec, &contractive, &codec, error);
    if (status) return status;
    const size_t capacity = tithe_codec_bound(codec, n), scratch = tithe_codec_scratch(codec, n);
    uint8_t *frame = malloc(capacity);
    const tithe_call call = {.form = TITHE_EXCHANGE, .scratch = malloc(scratch + 1), .scratch_size = scratch};
    *encode = *decode = INFINITY;
    if (!frame || !call.scratch)
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to time codecs.");
    for (unsigned i = 0; i < TRIALS && !status; i++) { /* the fastest: what disturbs only makes longer */
        tithe_frame_info info;
        const double start = clock_now();
        status = tithe_ec_encode(codec, &call, e, x, 1, n, frame, capacity, &info, error);
        const double middle = clock_now();
        if (!status) status = tithe_decode_add(codec, &call, frame, info.bytes, 1, x, n, error);
        *encode = fmin(*encode, (middle - start) / (double)n);
        *decode = fmin(*decode, (clock_now() - middle) / (double)(info.entries ? info.entries : 1));
    }
    free(frame);
    free(call.scratch);
    tithe_codec_free(codec);
    return status;
}

static tithe_status time_codecs(tithe_exchange *ex, tithe_error *error)
{
    const setting_list *list = &ex->control->settings;
    const size_t n = ex->n < TRIAL ? ex->n : TRIAL;
    double times[2 * MAX_FAMILIES] = {0};
    float *x = calloc(n + 1, sizeof *x), *e = calloc(n + 1, sizeof *e);
    tithe_status status =
        x && e ? TITHE_OK : ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to time codecs.");
    for (unsigned f = 0; f < list->families && n && !status; f++) {
        fill(x, n);
        memset(e, 0, n * sizeof *e);
        status = time_codec(list->family[f], n, x, e, &times[2 * f], &times[2 * f + 1], error);
    }
    free(x);
    free(e);
    if (!status) status = ti_comm_fold(ex->config.comm, COMM_MAX, times, 2 * list->families, error);
    for (size_t i = 0; i < list->count && !status; i++) {
        tithe_setting *s = &list->all[i];
        const double *of = &times[2 * (size_t)s->family];
        if (!s->whole)
            s->codec = (double)ex->n * ((s->encoded + s->formed / 2) * of[0] + s->decoded * s->keep * of[1]);
    }
    return status;
}

/* ---- before the first step ------------------------------------------------------------------------------------- */

tithe_status ti_control_start(tithe_exchange *ex, tithe_error *error)
{
    exchange_control *c = ex->control;
    tithe_comm *comm = ex->config.comm;
    if (!c || c->follows || !comm->transport || comm->local == comm->size) return TITHE_OK;
    tithe_link link;
    uint64_t longest = 0;
    c->estimate = ti_link_start();
    tithe_status status = probe(ex, &link, &longest, error);
    c->longest = (long_messages){.bytes = (double)longest, .bandwidth = link.bandwidth};
    if (!status) status = time_codecs(ex, error);
    c->live = true;
    c->estimate.reports_next = true; /* the first look is to see it */
    return status ? status : ti_control_link(ex, &link, 0, error);
}

/* ---- while it runs ---------------------------------------------------------------------------------------------- */

tithe_link_estimate *ti_control_estimate(const tithe_exchange *ex)
{
    exchange_control *c = ex->control;
    return c && ti_control_watches(c) ? &c->estimate : NULL;
}

/* What the estimate says now, which may be no more than before. */
static void take_link(exchange_control *c)
{
    const tithe_link_estimate *e = &c->estimate;
    if (e->now.latency > 0) c->link.latency = e->now.latency;
    if (e->now.bandwidth > 0) c->link.bandwidth = e->now.bandwidth;
    if (e->reports != c->reports) ti_control_heed(c);
    c->reports = e->reports;
}

tithe_status ti_control_met(tithe_exchange *ex, tithe_error *error)
{
    if (!ti_control_estimate(ex) || !(ex->control->compute > 0)) return TITHE_OK; /* what do steps take? */
    take_link(ex->control);
    ti_control_plan_watch(ex); /* there may be a doubt */
    return ti_control_reconsider(ex, error);
}

/* The link first: what messages took is no part of what else did. */
tithe_status ti_control_watch(tithe_exchange *ex, tithe_error *error)
{
    exchange_control *c = ex->control;
    const unsigned ranks = ex->config.comm->size;
    double of_steps[2] = {c->timed ? c->usual : 0, c->timed ? c->coding : 0};
    ex->config.comm->phase = "looking at the link";
    const tithe_status status = ti_link_meet(ex->config.comm, &c->estimate, of_steps, 2, false, error);
    ex->config.comm->phase = NULL;
    if (status) return status;
    c->estimate.look_bytes += c->estimate.met_bytes;
    take_link(c);
    ti_control_learn(ex, of_steps[0] / ranks, of_steps[1] / ranks);
    c->watched += ti_link_meet_seconds(ex->config.comm, &c->link);
    c->timed = 0;
    c->watch = UINT32_MAX; /* whoever decides now plans the next one */
    return TITHE_OK;
}

/* ---- what the link is for longer messages ---------------------------------------------------------------------- */

static bool is_longer(const exchange_control *c, const tithe_setting *s)
{
    return s->bytes > 2 * c->settings.all[c->now].bytes;
}

/* What so many bytes take more than they seem to. */
static double excess(double bytes, double bandwidth, double seems)
{
    return fmax(0, bytes / bandwidth - bytes / seems);
}

double ti_control_bandwidth(const exchange_control *c, const tithe_setting *s, double seems)
{
    const long_messages *l = &c->longest;
    if (!ti_control_watches(c) || !is_longer(c, s)) return seems;
    const double cost = STEPS_TRIED * excess(s->bytes, l->bandwidth, seems);
    return l->lost + cost > TRIES * c->took ? fmin(seems, l->bandwidth) : seems;
}

void ti_control_claim(exchange_control *c, size_t place)
{
    const tithe_setting *s = &c->settings.all[place];
    const bool relies = ti_control_watches(c) && is_longer(c, s);
    c->longest.claim = relies ? ti_control_bandwidth(c, s, c->link.bandwidth) : 0;
}

void ti_control_heed(exchange_control *c)
{
    long_messages *l = &c->longest;
    const double bytes = c->settings.all[c->now].bytes, bandwidth = c->link.bandwidth;
    const bool wrong = l->claim > 0 && WRONG * bandwidth < l->claim;
    const bool tells = !isnan(c->estimate.newest) || c->estimate.answered != c->answered;
    c->answered = c->estimate.answered;
    if (!c->timed_all) return;
    if (!tells) { /* nothing is known of these messages, and after some steps nobody asks any more */
        if (c->timed_all > 4 * STEPS_TRIED) l->claim = 0;
        return;
    }
    if (wrong) l->lost += c->timed_all * excess(bytes, bandwidth, l->claim);
    if (bytes >= l->bytes) {
        l->bytes = bytes;
        l->bandwidth = bandwidth;
    }
    /* Nobody forgets what was paid for before it is a small part of the time. */
    if (l->lost <= TRIES * c->took) l->bandwidth *= pow(FORGETS, (c->step - l->heeded) / FORGETS_IN);
    l->bandwidth = fmin(l->bandwidth, bandwidth);
    l->heeded = c->step;
    l->claim = 0;
    c->view.misled = wrong;
}

/* ---- what steps take ------------------------------------------------------------------------------------------- */

static double coding_so_far(const tithe_exchange *ex)
{
    return ex->totals.encode + ex->totals.decode;
}

/* About the median: one step that is held up says nothing about the others. It begins with the shorter one of two; the next ones move it a lot, later
 * ones by a twentieth. */
static double usual_of(double usual, double here, unsigned timed)
{
    const double by = 1 + fmax(0.05, 1.0 / (2 + timed));
    if (!timed || !(usual > 0)) return here;
    if (timed == 1) return fmin(here, usual);
    return fmin(fmax(here, usual / by), usual * by);
}

void ti_control_time(tithe_exchange *ex)
{
    exchange_control *c = ex->control;
    const double now = clock_now(), busy = coding_so_far(ex);
    if (c->left > 0) {
        c->usual = usual_of(c->usual, now - c->left, c->timed_all);
        c->coding = usual_of(c->coding, busy - c->busy, c->timed_all);
        c->timed_all++;
        c->timed++;
    }
    c->left = now;
    c->busy = busy;
}

/* In a step a codec shares caches and cores with all else, and vectors may be longer than the one that was timed.
 * Under a leader or a server one rank does what the others wait for, and the mean over ranks says nothing of that. */
static void learn_codec(const tithe_exchange *ex, double seconds)
{
    exchange_control *c = ex->control;
    const double timed = c->settings.all[c->now].codec;
    if (ex->scheme->forms || ex->scheme->served || !(timed > 0) || !(seconds > 0)) return;
    c->slow += (fmin(fmax(seconds / timed, SLOW_MIN), SLOW_MAX) - c->slow) / 2;
}

/* What a step takes beside its messages and its codec, whatever they are: gradients, and waiting for those who are slow. (To remember with each
 * setting what it took more than that was tried: settings that nobody had tried then looked better than any that was in use, and there were 165
 * changes in 1,200 steps.) */
static void learn_compute(exchange_control *c, double seconds)
{
    if (!(seconds > 0) || !isfinite(seconds)) return;
    ti_control_price(c);
    const double codec = c->slow * c->settings.all[c->now].codec;
    const double transfer = (c->seconds[c->now] - c->compute - codec) / c->right;
    const double most = 0.95 * seconds; /* that messages can have taken, whatever the link seemed to be */
    if (transfer > 0) c->right += (fmin(1, most / transfer) - c->right) / 2;
    const double rest = fmax(seconds - codec - c->right * transfer, seconds - most);
    c->compute = c->compute > 0 ? c->compute + (rest - c->compute) / 2 : rest;
}

void ti_control_learn(const tithe_exchange *ex, double seconds, double codec)
{
    learn_codec(ex, codec);
    learn_compute(ex->control, seconds);
}

void ti_control_not_coding(tithe_exchange *ex)
{
    if (ex->control) ex->control->busy = coding_so_far(ex);
}

void ti_control_paused(tithe_exchange *ex, double seconds)
{
    if (ex->control && ex->control->left > 0) ex->control->left += seconds;
}
