/* search.c - levels, their cost, and the bounds that spare the search most of them. */
#include "tuner/search.h"

#include <math.h>

#include "base/bytes.h"

double ti_search_bits(const tithe_tuner_call *call, double level)
{
    if (call->bits) return call->bits(call, level);
    if (call->count_paper) return tithe_codec_paper_bits(call->codec, call->n, (size_t)level);
    return 8.0 * (double)tithe_codec_length(call->codec, call->n, (size_t)level, call->form);
}

double ti_search_cost(const cat_search *s, double level)
{
    return tithe_cost_of(s->call->cost, ti_search_bits(s->call, level));
}

/* The length of a frame is a concave function of T below n (a minimum of affine ones for the indices, an affine one for
 * the values) but for what is rounded up: two parts to whole bytes, the norms to whole buckets, and for `stochastic`
 * the two parts of the group that shares a magnitude. Varints come on top of this (growth_of). The papers round norms alone. */
static double slack_of(const tithe_tuner_call *call)
{
    const tithe_codec *codec = call->codec;
    const bool norms = codec->quantizer->common == TITHE_COMMON_NORM;
    if (call->bits) return INFINITY; /* nothing is known of somebody's own count, */
    if (call->count_paper) return norms ? 32 : 0;
    const tithe_quantizer *const *known = tithe_quantizers();
    while (*known && *known != codec->quantizer) known++;
    if (!*known) return INFINITY; /* or quantizer */
    return 16 + (norms ? 32 : 0) + (codec->selector->shares ? 32 : 0);
}

static double growth_of(const cat_search *s, double first, double last)
{
    if (s->call->count_paper) return 0;
    const double bytes = (double)(varint_size((uint32_t)last) - varint_size((uint32_t)first));
    return (s->call->codec->selector->shares ? 16 : 8) * bytes;
}

void ti_search_start(cat_search *s, const tithe_tuner_call *call)
{
    *s = (cat_search){.call = call, .kind = ti_progress_kind(call->codec), .best = -1, .level_value = -2};
    s->ends_only = call->codec->selector->absolute;
    s->factor = 1;
    s->even = true;
    if (s->kind == PROGRESS_SQUARES) {
        s->factor = ti_progress_factor(call->codec, 1);
        s->even = s->factor == ti_progress_factor(call->codec, call->n);
    }
    s->slack = slack_of(call);
}

static double factor_at(const cat_search *s, double level)
{
    return s->even ? s->factor : ti_progress_factor(s->call->codec, (size_t)level);
}

double ti_progress_at(const cat_search *s, const top_sums *sums)
{
    if (s->kind == PROGRESS_SIGN) return sums->s1 * sums->s1 / sums->count;
    return sums->s2 * factor_at(s, sums->count);
}

static double value_of(const cat_search *s, double progress, double cost)
{
    return s->rate > 0 ? s->share * progress - s->rate * cost : progress / cost;
}

/* Values closer than this are equal. */
static double equal_within(const cat_search *s)
{
    return CAT_EQUAL * (s->rate > 0 ? s->rate * ti_search_cost(s, s->limit) : s->best);
}

bool ti_search_try(cat_search *s, double level, double progress)
{
    const bool beyond = level < s->floor || level > s->limit || (progress < s->least && level < s->limit);
    if (s->rate > 0 && beyond) return false;
    const double cost = ti_search_cost(s, level), value = value_of(s, progress, cost);
    if (!(cost > 0) || !isfinite(cost)) {
        s->failed = "The cost of a message must be positive and finite.";
        return false;
    }
    if (value > s->best) s->best = value;
    const double enough = s->best - equal_within(s); /* what came before may not be enough any more */
    if (value < enough || (s->level_value >= enough && s->level < level)) return false;
    s->level = level;
    s->level_value = value;
    s->level_progress = progress;
    s->level_cost = cost;
    return true;
}

/* A line of cost below what messages of first to last entries cost. */
static void cost_below(const cat_search *s, double first, double last, double at_first, double line[2])
{
    const tithe_cost_model *model = tithe_cost_model_of(s->call->cost);
    line[0] = line[1] = at_first;
    if (!model->below || !isfinite(s->slack) || first == last) return;
    const double from = ti_search_bits(s->call, first) - s->slack;
    const double to = ti_search_bits(s->call, last) - s->slack - growth_of(s, first, last);
    if (from > 0 && to >= from) model->below(s->call->cost, from, to, line);
}

/* Lines above S1 mean curves above S1^2/T, which are convex. Over a line of cost, or less one, they have no maximum inside, and
 * neither has the quotient of two lines: the ends say it all. */
bool ti_search_worth(const cat_search *s, double first, double last, const progress_lines *above)
{
    if (s->rate > 0 && first > s->limit) return false;
    const double cost = ti_search_cost(s, first);
    const double factor = s->kind == PROGRESS_SQUARES ? factor_at(s, first) : 1;
    double line[2], by_line = INFINITY, by_ends = INFINITY;
    cost_below(s, first, last, cost, line);
    for (int i = 0; i < 2; i++) {
        double a = above->value[i][0] * factor, b = above->value[i][1] * factor;
        if (s->kind == PROGRESS_SIGN) {
            a *= a / first;
            b *= b / last;
        }
        if (line[0] > 0) by_line = fmin(by_line, fmax(value_of(s, a, line[0]), value_of(s, b, line[1])));
        by_ends = fmin(by_ends, value_of(s, fmax(a, b), cost));
    }
    const double bound = fmin(by_line, by_ends), equal = equal_within(s);
    if (bound < s->best - equal) return false;
    return first < s->level || bound > s->best + equal;
}

progress_lines ti_lines_between(const cat_search *s, const top_sums *from, const top_sums *to, double high,
                                double low, double first, double last)
{
    const bool sign = s->kind == PROGRESS_SIGN;
    const double before = sign ? from->s1 : from->s2, after = sign ? to->s1 : to->s2;
    const double up = sign ? high : high * high, down = sign ? low : low * low;
    return (progress_lines){{{before + (first - from->count) * up, before + (last - from->count) * up},
                             {after - (to->count - first) * down, after - (to->count - last) * down}}};
}
