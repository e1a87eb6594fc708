/* cat.c - communication-aware tuning: the level that buys the most progress per cost. Key: khirirat2021cat. */
#include <math.h>

#include "base/status.h"
#include "kernels/kernels.h"
#include "tuner/forming.h"
#include "tuner/search.h"

static size_t cat_scratch(const tithe_codec *codec, size_t n)
{
    return ti_progress_kind(codec) == PROGRESS_LEVELS ? 0 : ti_ranks_scratch(n);
}

static tithe_status fail_nonfinite(const tithe_tuner_call *c, size_t bad, tithe_error *error)
{
    const float x = c->forming && c->forming->wrong ? copysignf(INFINITY, c->x[bad]) : c->x[bad];
    return ti_fail(error, TITHE_E_NONFINITE, bad,
                   "The vector holds %g at position %zu, so no level can be chosen.", (double)x, bad);
}

static tithe_status expect_sense(const tithe_tuner_call *c, tithe_error *error)
{
    if (!c->codec || (!c->x && c->n))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A codec and a vector are needed.");
    const char *why = ti_progress_refuse(c->codec);
    if (why) return ti_fail(error, TITHE_E_SPEC, 0, "%s", why);
    const size_t needed = cat_scratch(c->codec, c->n);
    if (needed && (!c->scratch || c->scratch_size < needed))
        return ti_fail(error, TITHE_E_SPACE, c->scratch_size,
                       "The scratch has %zu bytes, but %zu are needed.", c->scratch ? c->scratch_size : 0,
                       needed);
    if (c->codec->selector->absolute && !(c->gamma > 0 && isfinite(c->gamma)))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "gamma is %g, but must be positive and finite.",
                       (double)c->gamma);
    return TITHE_OK;
}

/* What is below this in magnitude stays; in the units of the gradient. Halfway to the next smaller float, so that no
 * rounding on the way through gamma can move an entry to the other side. */
static double lambda_for(float magnitude, float gamma)
{
    return ((double)magnitude + (double)nextafterf(magnitude, 0)) / 2 / (double)gamma;
}

/* Nothing to be gained: the least that the codec can send. */
static void choose_nothing(const tithe_tuner_call *c, tithe_choice *choice)
{
    const bool absolute = c->codec->selector->absolute;
    *choice =
        (tithe_choice){.level = absolute ? lambda_for(0x1p-126f, c->gamma) : 1, .reason = "nothing to send"};
    choice->entries = absolute ? 0 : 1;
    const tithe_codec at = ti_codec_at(c->codec, choice->level);
    if (at.selector->source == TITHE_INDICES_ALL) choice->entries = (double)c->n;
    const tithe_tuner_call sized = {.codec = &at, .n = c->n, .form = c->form, .count_paper = c->count_paper};
    choice->cost = tithe_cost_of(c->cost, ti_search_bits(&sized, choice->entries));
}

static const char *reason_of(const cat_search *s)
{
    const tithe_tuner_call *c = s->call;
    const tithe_cost_model *model = tithe_cost_model_of(c->cost);
    if (s->rate > 0 && s->level < s->most) return "the rest can wait";
    if (s->kind == PROGRESS_LEVELS) return "best efficiency";
    if (s->level >= s->total.count) return "everything fits";
    if (s->level == 1) return "one entry";
    if (model->packet) {
        const double bits = model->packet(c->cost);
        if (ceil(ti_search_bits(c, s->level) / bits) < ceil(ti_search_bits(c, s->level + 1) / bits))
            return "full packet";
    }
    return "best efficiency";
}

/* Who can be told need not look for what was found. */
static void hand_out(const cat_search *s, ranks *r, tithe_choice *choice)
{
    if (!s->call->codec->selector->told || !(s->magnitude > 0)) return;
    choice->largest = ti_ranks_above(r, s->magnitude, &choice->largest_count);
    if ((double)choice->largest_count < s->level) choice->largest = NULL; /* zeros go too */
}

static void take(const cat_search *s, ranks *r, tithe_choice *choice)
{
    const tithe_tuner_call *c = s->call;
    *choice = (tithe_choice){.level = s->level,
                             .entries = s->kind == PROGRESS_LEVELS ? (double)c->n : s->level,
                             .progress = s->level_progress / s->total.s2,
                             .cost = s->level_cost,
                             .reason = reason_of(s)};
    if (s->ends_only) choice->level = lambda_for(s->magnitude, c->gamma);
    hand_out(s, r, choice);
}

static bool can_wait(const tithe_codec *codec)
{
    const progress_kind kind = ti_progress_kind(codec);
    return kind == PROGRESS_SQUARES || kind == PROGRESS_SIGN;
}

static bool asks_late(const tithe_tuner_call *c)
{
    return ((c->lost > 0 && c->lost < 1) || c->before > 0) && can_wait(c->codec);
}

/* Once all of x is there. */
static void judge(tithe_tuner_call *c)
{
    late_memory *late = c->forming ? c->forming->late : NULL;
    if (!late) return;
    ti_late_judge(late, (double)c->forming->gamma, c->forming->squares);
    c->lost = late->lost;
    c->pace = late->pace;
    c->before = late->before;
}

/* False: a number is not finite, at *bad. */
static bool search(cat_search *s, ranks *r, tithe_tuner_call *c, size_t *bad)
{
    *r = (ranks){0};
    *bad = c->n;
    const bool found = s->kind != PROGRESS_LEVELS && ti_search_sampled(s, r);
    if (c->forming && !ti_forming_rest(c->forming)) {
        *bad = ti_forming_bad(c->forming);
        return false;
    }
    if (s->kind == PROGRESS_LEVELS) {
        *bad = ti_kernels()->find_nonfinite(c->x, c->n);
        if (*bad < c->n || c->n == 0) return c->n == 0;
        s->total.s2 = ti_kernels()->sum_squares(c->x, c->n);
        if (s->total.s2 > 0) ti_search_levels(c, s);
        return true;
    }
    judge(c);
    if (found && !(asks_late(c) && s->level > (double)r->source_count)) return true;
    ti_search_start(s, c); /* or what was kept has not all the levels that may be wanted */
    *bad = ti_ranks_count(c, r, &s->total);
    if (*bad < c->n) return false;
    if (!(s->total.s2 > 0)) return true;
    if (s->kind == PROGRESS_WATER)
        ti_search_water(s, r);
    else
        ti_search_top(s, r);
    return true;
}

static tithe_status choose_one(const tithe_tuner_call *asked, tithe_choice *choice, tithe_error *error)
{
    tithe_tuner_call call = *asked;
    const tithe_tuner_call *c = &call;
    cat_search s;
    ranks r;
    size_t bad;
    ti_search_start(&s, c);
    if (!search(&s, &r, &call, &bad)) return fail_nonfinite(c, bad, error);
    if (!(s.total.s2 > 0)) {
        choose_nothing(c, choice);
        return TITHE_OK;
    }
    if (!s.failed && asks_late(c)) ti_search_late(&s, &r);
    if (s.failed) return ti_fail(error, TITHE_E_ARGUMENT, 0, "%s", s.failed);
    take(&s, &r, choice);
    return TITHE_OK;
}

/* ---- layer by layer ---------------------------------------------------------------------------------------- */

static tithe_status expect_layers(const tithe_tuner_call *c, tithe_error *error)
{
    size_t left = c->n;
    bool fits = c->segments && c->segment_levels && c->segment_count;
    for (size_t i = 0; fits && i < c->segment_count; i++) {
        fits = c->segments[i] <= left;
        left -= c->segments[i];
    }
    if (fits && left == 0) return TITHE_OK;
    return ti_fail(
        error, TITHE_E_ARGUMENT, 0,
        "per=layer needs the lengths of the layers, which add up to %zu, and room for their levels.", c->n);
}

/* The level of each layer is the one that it would have as a message of its own. What maximises the progress of all over the
 * cost of the one message that they go in is the same for per=all and per=layer, since both know only how many entries
 * go: then the largest of the whole vector do. */
static tithe_status choose_layers(const tithe_tuner_call *c, tithe_choice *choice, tithe_error *error)
{
    tithe_status status = expect_layers(c, error);
    const size_t bad =
        status ? c->n : ti_kernels()->find_nonfinite(c->x, c->n); /* by its place in the whole */
    if (bad < c->n) return fail_nonfinite(c, bad, error);
    double energy = 0, progress = 0;
    *choice = (tithe_choice){.segment_levels = c->segment_levels, .reason = "each layer's own"};
    size_t first = 0;
    for (size_t i = 0; i < c->segment_count && !status; first += c->segments[i], i++) {
        tithe_tuner_call layer = *c;
        tithe_choice own = {0};
        layer.x = c->x + first;
        layer.n = c->segments[i];
        layer.before = 0; /* is of all of them */
        if (layer.n) status = choose_one(&layer, &own, error);
        const double squares = layer.n ? ti_kernels()->sum_squares(layer.x, layer.n) : 0;
        c->segment_levels[i] = (size_t)own.level;
        choice->level += own.level;
        progress += own.progress * squares;
        energy += squares;
    }
    if (status) return status;
    if (!(energy > 0)) choice->reason = "nothing to send";
    choice->entries = choice->level;
    choice->progress = energy > 0 ? progress / energy : 0;
    choice->cost = tithe_cost_of(c->cost, ti_search_bits(c, choice->entries));
    return TITHE_OK;
}

static tithe_status cat_choose(const tithe_tuner_call *c, tithe_choice *choice, tithe_error *error)
{
    const tithe_status status = expect_sense(c, error);
    if (status) return status;
    return ti_codec_by_layer(c->codec) ? choose_layers(c, choice, error) : choose_one(c, choice, error);
}

static const tithe_param params[] = {
    {.name = "late",
     .doc = "under error compensation: count what waits as late, not as lost",
     .fallback = 0,
     .max = 1,
     .choices = "off|on"},
    {.name = NULL}};

static const char *waits(const double *stated, const tithe_codec *codec)
{
    if (!(stated[0] > 0)) return NULL;
    return can_wait(codec) ? "" : "late=on is for entries that wait: take topk, mstopk or threshold.";
}

const tithe_tuner ti_tuner_cat = {
    .name = "cat",
    .summary = "the level that buys the most progress per unit of cost, for this vector",
    .paper = "khirirat2021cat",
    .params = params,
    .tunes = true,
    .forms = true,
    .waits = waits,
    .refuse = ti_progress_refuse,
    .scratch = cat_scratch,
    .choose = cat_choose,
};
