/* tuner.h - how much to send now, from what the vector and the cost of a message say.
 *
 * A tuner looks at the vector that is about to be compressed and names a level: entries, lambda, or s (codec.h,
 * tithe_call.level). `fixed` leaves it to the codec, without a look; where a tuner is asked for, NULL means that one.
 *
 * `cat` takes the level that buys the most progress per unit of cost, exactly: the argmax over all levels T of
 * progress(T) / cost(len(T)), the smallest one among equals. Progress is the share of the descent of a full gradient
 * step, F(x) - F(x+) >= progress |g|^2 / (2L), that the message guarantees; docs/design.md has it for every codec. */
#ifndef TITHE_TUNER_H
#define TITHE_TUNER_H

#include "tithe/cost.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_tuner_call {
    const void *state;        /* of the tuner: `open` made it, and `after` may change it between two steps */
    const tithe_codec *codec; /* made with open_level */
    const tithe_cost *cost;   /* NULL: bits */
    bool count_paper;         /* charge the papers' bits in place of the length of the frame */
    tithe_form form;
    const float *x;
    size_t n;
    float gamma; /* what lambda is multiplied with: 1, or the step size under error compensation */
    void *scratch;
    size_t scratch_size;
    /* For per=layer: the lengths of the layers, which add up to n, and room for as many levels. */
    const size_t *segments;
    size_t segment_count;
    size_t *segment_levels;
    /* What a message of so many entries of c->n is counted as, where that is not its frame; never less for more of them, but
     * for all n. NULL: the frame of the codec, or what the papers count. */
    double (*bits)(const struct tithe_tuner_call *c, double entries);
    const void *context; /* for it */
    /* Under error compensation, where what does not go now goes later; all of them 0: as if it never went.
     * The share of an entry's progress that is lost if it waits; the progress that a message has to make at least, if CAT's own does,
     * so that it keeps up with gradients that change; and the entries of the last message, from which a level does not go far away. */
    double lost, pace, before;
    /* Where the tuner `forms`: x is not there yet, and made by the first look at it, which also says what the three above are. NULL: it is. */
    struct forming *forming;
} tithe_tuner_call;

typedef struct tithe_choice {
    double level;    /* for tithe_call.level */
    double entries;  /* that will be sent, as far as it is known */
    double progress; /* share of the descent of a full gradient step that this message buys */
    double cost;     /* of the message */
    /* For tithe_call.largest, in the scratch of the call; NULL where they are not known. */
    const uint32_t *largest;
    size_t largest_count;
    /* For tithe_call.segment_levels: those of the call; NULL: one level for all. */
    const size_t *segment_levels;
    const char *reason; /* static: "best efficiency", "full packet", "one entry", "everything fits", ... */
} tithe_choice;

/* A step that is over, as the ranks of this process saw it. What has to be decided by all ranks alike may depend on
 * `step` and on what all of them have heard, not on seconds. */
typedef struct tithe_tuner_step {
    uint32_t step;         /* counted from 0 */
    double entries;        /* that a rank sent: the mean */
    double energy, unsent; /* means of |to be sent|^2 and |not sent|^2; NAN: not measured */
    double sent_bytes;     /* by this process */
    double seconds;        /* from the first frame to the update */
    const char *scheme, *collective;
} tithe_tuner_step;

/* What is to change from the next step on; the level is named by `choose`. */
typedef struct tithe_tuner_plan {
    const char *scheme;     /* as for tithe_exchange_switch_scheme; NULL: as it is */
    const char *collective; /* as for tithe_exchange_switch; NULL: as it is, or the default of a new scheme */
} tithe_tuner_plan;

/* ---- tuners that steer: codec, level, scheme and collective at once ---------------------------------------- */

/* One way to make a step, as the exchange offers it. */
enum { TITHE_SETTING_TEXT = 256 };
typedef struct tithe_setting {
    char options[TITHE_SETTING_TEXT]; /* as for tithe_exchange_change (exchange.h) */
    double keep;                      /* share of its numbers that a rank sends; 1: all of them */
    bool whole;                       /* gradients as they are: nothing is compressed, and nothing kept */
    /* How long what is not sent waits: `waits` times what it does under top-k with raw values that all ranks get from each
     * other, at the same keep; and `lag` steps whatever the vector is, where all numbers are sent, but not exactly. */
    double waits, lag;
    /* Of a step: transfer = rounds * latency + bytes / bandwidth; and codec work (rounds.h). */
    double rounds, bytes, encoded, decoded, formed;
    double codec;    /* seconds of that work, as far as it was timed; 0 on a network that is computed */
    unsigned family; /* settings of one family differ in level, scheme and collective alone */
    bool switched;   /* a switch adds; */
    bool spare;      /* only when there is none any more, where the caller wants one */
} tithe_setting;

/* What is known after so many steps, the same on all ranks. NAN: not known. */
typedef struct tithe_view {
    uint32_t step;
    size_t n;
    unsigned ranks;
    const tithe_setting *settings;
    size_t count, now;         /* how many there are, and which one is in use */
    const double *seconds;     /* of a step with each of them, compute included, on the link as it is */
    double latency, bandwidth; /* of that link */
    /* Share of the energy that was sent: the mean over ranks, and over steps since they looked before. */
    double gain;
    /* |v|_1^2 / |v|_2^2 of a rank's gradient, and of what it has to send: how many entries it is made of. */
    double spread, spread_kept;
    /* What a step gained of the loss, lately: the mean of <g_t, u_(t-1)> over the ranks, with u the update. And what it would
     * gain if nothing was kept: <g, e>, of the means over the ranks. */
    double descent, behind;
    double behind_error; /* of the latter, which is an estimate: one standard deviation */
    bool fresh;          /* all of this was seen just now, and not before */
    bool momentum; /* updates go on where earlier ones went: a descent says little of what a step gains */
    bool misled;   /* the setting in use was taken because the link seemed to be faster than it is */
    bool another;  /* link than the one of the last decision */
} tithe_view;

typedef struct tithe_order {
    size_t take;  /* place in settings */
    bool settled; /* nothing that ranks could see would change it, while the link stays as it is */
    /* Not 0: the next steps are a trial, and another one than those before if the number is another; whoever has the model goes back
     * to where it was when a trial ends. What is kept goes back by itself. Only where the tuner `explores`. */
    unsigned trial;
    unsigned look;    /* ask again after so many steps; 0: when it pays */
    char reason[160]; /* in a few words; "" where nothing changes */
} tithe_order;

typedef struct tithe_tuner {
    const char *name, *summary, *paper; /* paper NULL: of no paper */
    const tithe_param *params;          /* NULL: none */
    /* Names a level: the codec has to be made with open_level, and should contract. Otherwise the codec's own level stands. */
    bool tunes;
    bool blind; /* without a look at the vector: x may be NULL, as where nothing is tuned */
    bool forms; /* of the library's own: knows what to do with tithe_tuner_call.forming */
    /* NULL, or a sentence: why it cannot tune this codec. */
    const char *(*refuse)(const tithe_codec *codec);
    size_t (*scratch)(const tithe_codec *codec, size_t n);
    tithe_status (*choose)(const tithe_tuner_call *c, tithe_choice *choice, tithe_error *error);
    /* State of its own, one in each exchange and in each of its buckets. All of these may be NULL: there is none. params
     * with their defaults. `choose` runs on several threads at a time, so it only reads; `after` runs alone. */
    tithe_status (*open)(const tithe_codec *codec, size_t n, const double *params, void **state,
                         tithe_error *error);
    void (*close)(void *state); /* not NULL where `open` is not */
    void (*after)(void *state, const tithe_tuner_step *step, tithe_tuner_plan *plan);
    /* Does it want tithe_tuner_call.lost and the like, for which each rank remembers a gradient and an update? NULL: no; "": yes; or a sentence: why it cannot
     * with this codec. NULL: never. params with their defaults. */
    const char *(*waits)(const double *params, const tithe_codec *codec);
    /* Of a tuner that steers: it makes trials; and it has a ladder of levels from `high` down to `low` with so many to each factor
     * `factor`, of a selector that sends a share, without a way back of its own. 0: it takes whatever there is. */
    bool explores;
    unsigned rungs;
    /* Chooses among settings, before the first step and after some of the others; `choose` is not asked then, since every
     * setting states its level. The same numbers have to lead to the same choice on every machine. NULL: it does not steer. */
    void (*steer)(void *state, const tithe_view *view, tithe_order *order);
    /* Which setting it would have taken from the start, as far as is known now: `seconds` are means over the run. NULL: nobody
     * knows. */
    size_t (*hindsight)(const void *state, const tithe_view *view);
    /* As numbers, for a checkpoint: returns how many, and copies them if there is a place. Both or none. */
    size_t (*save)(const void *state, double *numbers);
    void (*load)(void *state, const double *numbers);
} tithe_tuner;

TITHE_API const tithe_tuner *const *tithe_tuners(void); /* ends with NULL */
/* From its spec; params takes TITHE_MAX_PARAMS values, NAN where nothing was stated, or is NULL. */
TITHE_API tithe_status tithe_tuner_find(const char *spec, const tithe_tuner **tuner, double *params,
                                        tithe_error *error);

/* ---- one level for all workers -------------------------------------------------------------------------- */

/* A shared level maximises sum_i progress_i(T) |x_i|^2 / sum_i cost_i(len(T)): the descent of the sum of the workers'
 * losses, for the cost of all messages. Workers cannot hand around whole curves, so it is taken from a grid that is
 * the same for all of them: 1 to 16, then steps of at most 1/16, each moved up to the last level of the same cost (a
 * full packet). Each worker says what its own curve is there; the curves add, and so do the costs.
 *
 *     count = tithe_tuner_grid(&call, levels, room);                 // needs no data; at most 512 levels
 *     tithe_tuner_curve(&call, levels, count, curve, costs, &error); // for each worker
 *     best = tithe_tuner_best(sum_of_curves, sum_of_costs, count);   // place in levels[]
 */
enum { TITHE_GRID_MAX = 512 };
TITHE_API size_t tithe_tuner_grid(const tithe_tuner_call *c, double *levels, size_t room);
/* progress(T) |x|^2 and cost(len(T)) at each of these levels, which ascend. Exact up to rounding. Takes the scratch of
 * the tuner cat. For selectors by magnitude (threshold) and for `all` there is no shared grid. */
TITHE_API tithe_status tithe_tuner_curve(const tithe_tuner_call *c, const double *levels, size_t count,
                                         double *curve, double *costs, tithe_error *error);
TITHE_API size_t tithe_tuner_best(const double *curve, const double *costs, size_t count);
/* Where entries can wait: a level up to that one, `best`, which maximises lost * curve - rate * costs, rate being curve / costs
 * there. lost and before are as in tithe_tuner_call, `least` is pace * |x|^2, both of all workers. */
TITHE_API size_t tithe_tuner_best_late(const double *levels, const double *curve, const double *costs,
                                       size_t best, double lost, double least, double before);

#ifdef __cplusplus
}
#endif
#endif
