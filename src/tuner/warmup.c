/* warmup.c - send more at the start, and less and less until the codec's own level is reached.
 *
 * The first gradients are large and change quickly, and what error compensation keeps of them is old when it is sent. From
 * `from` of all entries the share falls like 1/t: its reciprocal grows by the same amount in each step, which takes no more
 * than a division, so all machines agree on it. The vector is not looked at. */
#include <math.h>
#include <stdlib.h>

#include "base/status.h"
#include "tuner/search.h"

enum { FROM, STEPS };

typedef struct warmup {
    double from, steps;
    double step; /* of the run */
} warmup;

static const tithe_param params[] = {
    {.name = "from", .doc = "share of the entries in the first step", .fallback = 0.1, .min = 1e-9, .max = 1},
    {.name = "steps",
     .doc = "until the codec's own level is reached",
     .fallback = 100,
     .min = 0,
     .max = 1e9,
     .whole = true},
    {.name = NULL}};

/* Entries that the codec states of a long vector; 0: it states none, or in another unit. */
static const char *refuse(const tithe_codec *codec)
{
    const tithe_selector *s = codec->selector;
    const char *why = s->untunable ? s->untunable(codec->selector_params) : NULL;
    if (why || ti_codec_by_layer(codec) || !codec->has_level || !s->set_level || s->absolute ||
        !ti_codec_stated_count(codec, TITHE_MAX_N))
        return "A warm-up falls to a number of entries of the whole vector that the codec states: write k= "
               "or keep= with topk, "
               "mstopk or randk, without per=layer.";
    return NULL;
}

static size_t scratch(const tithe_codec *codec, size_t n)
{
    (void)codec, (void)n;
    return 0;
}

static tithe_status choose(const tithe_tuner_call *c, tithe_choice *choice, tithe_error *error)
{
    const warmup *w = c->state;
    const double n = (double)c->n, own = (double)ti_codec_stated_count(c->codec, c->n) / n;
    const bool over = !w || w->step >= w->steps || own >= w->from || c->n == 0;
    const double share = over ? own : 1 / (1 / w->from + (1 / own - 1 / w->from) * (w->step / w->steps));
    const double entries = fmin(n, fmax(1, round(share * n)));
    (void)error;
    *choice = (tithe_choice){.level = over ? 0 : entries,
                             .entries = entries,
                             .progress = NAN,
                             .cost = tithe_cost_of(c->cost, ti_search_bits(c, entries)),
                             .reason = over ? "" : "warm-up"};
    return TITHE_OK;
}

static tithe_status open(const tithe_codec *codec, size_t n, const double *stated, void **state,
                         tithe_error *error)
{
    (void)codec, (void)n;
    warmup *w = malloc(sizeof *w);
    if (!w) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a warm-up.");
    *w = (warmup){.from = stated[FROM], .steps = stated[STEPS]};
    *state = w;
    return TITHE_OK;
}

static void after(void *state, const tithe_tuner_step *step, tithe_tuner_plan *plan)
{
    (void)step, (void)plan;
    ((warmup *)state)->step++;
}

static size_t save(const void *state, double *numbers)
{
    if (numbers) *numbers = ((const warmup *)state)->step;
    return 1;
}

static void load(void *state, const double *numbers)
{
    ((warmup *)state)->step = *numbers;
}

const tithe_tuner ti_tuner_warmup = {
    .name = "warmup",
    .summary = "more at the start, falling to the level that the codec states",
    .params = params,
    .tunes = true,
    .blind = true,
    .refuse = refuse,
    .scratch = scratch,
    .choose = choose,
    .open = open,
    .close = free,
    .after = after,
    .save = save,
    .load = load,
};
