/* control.h - one controller for codec, level, scheme and collective: what a tuner that steers sees, and what is done with its
 * orders. It belongs to the exchange that the caller has, and speaks for all of its buckets. */
#ifndef EXCHANGE_CONTROL_H
#define EXCHANGE_CONTROL_H

#include "comm/link_estimate.h"
#include "exchange/exchange.h"

/* ---- the settings that there are (settings.c) ---------------------------------------------------------------- */

enum { MAX_FAMILIES = 8 };
typedef struct setting_list {
    tithe_setting *all;
    size_t count;
    char family[MAX_FAMILIES][TITHE_SETTING_TEXT / 4]; /* a codec of each, with a level in the middle */
    unsigned families;
} setting_list;

/* Everything that the codec of this exchange can do with every level, scheme and collective, and dense; for all|raw, whatever
 * codecs are worth a try. */
typedef struct setting_range {
    double low, high, factor; /* between two levels */
    bool shares_alone;        /* of what sends a share, without a way back of its own */
} setting_range;
tithe_status ti_settings_make(const tithe_exchange *ex, const tithe_exchange_config *config,
                              const setting_range *range, setting_list *list, tithe_error *error);
void ti_settings_free(setting_list *list);

/* It needs a switch that is lost, or is there for the time when one is. */
static inline bool ti_setting_is_out(const tithe_setting *s, bool lost)
{
    return lost ? s->switched : s->spare;
}

/* ---- what ranks see of their gradients (observe.c) --------------------------------------------------------- */

/* Numbers that ranks add up at a check-in. */
enum {
    SEEN_RANKS,
    SEEN_SETTING, /* which one: they have to agree */
    SEEN_SPREAD,
    SEEN_SPREAD_KEPT,
    SEEN_DESCENT,
    SEEN_SECONDS,  /* of a step, where it is timed, */
    SEEN_CODEC,    /* and of these, in codecs */
    SEEN_GAIN,     /* share of the energy that was sent */
    SEEN_SKETCHES, /* from here on: a sketch of g, and one of what is kept */
    SKETCH = 32,
    SEEN = SEEN_SKETCHES + 2 * SKETCH
};

/* Of one local rank. */
typedef struct control_rank {
    double descent; /* sum over the steps since the last check-in */
    /* of this step */
    double gained, g1, g2, x1, x2;
    float seen[SEEN];
} control_rank;

/* Limits of `slow`. */
#define SLOW_MIN 0.5
#define SLOW_MAX 10.0

/* Steps after which ranks look whether a link is as fast as it seemed. */
enum { STEPS_TRIED = 2 };

/* How fast a link is for more bytes than are being sent: a shaped one lets a bucket of them pass unhindered, and what passes so is no
 * promise for more. So what short messages say is believed of longer ones where little is lost if it is wrong. */
typedef struct long_messages {
    double bytes, bandwidth; /* the most bytes of a step that told, and how fast they were */
    double lost;             /* seconds, by having believed it */
    double claim;            /* the bandwidth that the setting in use relies on; 0: on nothing new */
    uint32_t heeded;         /* the step after which all this was looked at last */
} long_messages;

typedef struct exchange_control {
    const tithe_tuner *tuner;
    void *state;
    setting_list settings;
    double *seconds; /* of a step with each of them, */
    double *so_far;  /* and of all steps so far, if they had been made with it */
    size_t now;
    tithe_link link;    /* as it is now; NAN: not known */
    double compute;     /* seconds of a step besides messages */
    double right;       /* what messages take over what the link says they do: at most 1 */
    double slow;        /* what codecs take in a step over what they took when they were timed alone */
    tithe_view view;    /* as it was last */
    uint32_t next;      /* the step after which ranks tell each other what they saw, */
    uint32_t watch;     /* and the one after which they look at the link and at what steps take */
    uint32_t since;     /* steps since they did that were looked back from */
    double spent, took; /* predicted seconds: of check-ins so far, of all steps so far, */
    double watched;     /* and of looking at the link */
    bool checked;       /* after the last step */
    bool looked;        /* at all */
    bool stepped;       /* `before` has what this step looks back at */
    bool decided;       /* a first time */
    double decided_on;  /* seconds of a step with the setting in use, when it was decided on last */
    bool settled;       /* no check-in is needed for now */
    double gain;        /* sum over the steps since the last check-in, */
    unsigned gains;     /* and over how many */
    unsigned trial;     /* 0: none */
    struct control_copy
        *copy;        /* what was kept when the first of these trials began; NULL: nobody makes trials */
    bool tries_again; /* trials that were not finished, as soon as there is a link */
    bool follows;     /* what somebody else decides */
    bool lost;        /* the switch: settings that need it cannot be had any more */
    unsigned changes;
    char reason[160];
    /* where steps are timed: when the last one ended, what one usually takes, and how many were timed since the last check-in, and
     * with this setting */
    bool live;
    bool told; /* by the caller what the link is; otherwise it is watched here */
    tithe_link_estimate estimate;
    unsigned reports, answered; /* of these, and of its probes, that were heeded */
    long_messages longest;
    double left, usual;
    double busy, coding; /* seconds in codecs: up to then, and usually of a step */
    unsigned timed, timed_all;
    uint32_t step; /* which is being put */
    float *before; /* the update of the step before, where this one looks at it */
    control_rank *ranks;
    float **seen;
    float scratch[SEEN];
} exchange_control;

/* Can this configuration be steered? */
tithe_status ti_control_refuse(const tithe_exchange_config *config, tithe_error *error);
/* Of an exchange that was made for it, by what the caller's configuration says; takes the first setting. */
tithe_status ti_control_open(tithe_exchange *ex, const tithe_exchange_config *config, tithe_error *error);
void ti_control_close(exchange_control *control); /* NULL is fine */

/* After all ranks have agreed on what the exchange is, and before the first step (control_live.c): the link, as a few messages
 * show it, and how fast codecs are here. Nothing where all ranks are in one process, or nobody steers. */
tithe_status ti_control_start(tithe_exchange *ex, tithe_error *error);
/* Another link, for all that is known: decide anew if that is worth it. */
tithe_status ti_control_link(tithe_exchange *ex, const tithe_link *link, double compute, tithe_error *error);
/* Nobody tells what the link is, so it is watched here: after some steps, from the messages since the last time. */
static inline bool ti_control_watches(const exchange_control *control)
{
    return control->live && !control->told;
}
tithe_status ti_control_watch(tithe_exchange *ex, tithe_error *error);
/* The estimate, for a caller who meets besides (ti_link_meet), and says so then; NULL: nobody watches. */
tithe_link_estimate *ti_control_estimate(const tithe_exchange *ex);
tithe_status ti_control_met(tithe_exchange *ex, tithe_error *error);
/* Where it is watched: what the link seems to be for a setting; a setting is taken that relies on it; there is something new to be heeded. */
double ti_control_bandwidth(const exchange_control *control, const tithe_setting *setting, double seems);
void ti_control_claim(exchange_control *control, size_t place);
void ti_control_heed(exchange_control *control);
/* What a step took with the setting in use, as all ranks have it, and its codecs of that. */
void ti_control_learn(const tithe_exchange *ex, double seconds, double codec);
/* A step has just ended; and between two of them the caller did something else, which is no part of a step. */
void ti_control_time(tithe_exchange *ex);
/* What was counted as coding just now was something else, the same with every setting. */
void ti_control_not_coding(tithe_exchange *ex);
void ti_control_paused(tithe_exchange *ex, double seconds);

/* Whether a step may go nowhere because the switch is lost: whoever says so takes another setting then. */
void ti_control_let_go(tithe_exchange *ex, bool lets_go);
/* Seconds of each setting, from the link as it is; a decision, if that made a difference; and another setting from the next step on. */
void ti_control_price(exchange_control *control);
tithe_status ti_control_reconsider(tithe_exchange *ex, tithe_error *error);
tithe_status ti_control_take(tithe_exchange *ex, size_t place, const char *reason, tithe_error *error);

/* trials.c: before another one, and after the last, what is kept is what it was before the first. */
tithe_status ti_trials_open(tithe_exchange *ex, tithe_error *error);
void ti_trials_close(exchange_control *control);
void ti_trials_change(tithe_exchange *ex, unsigned trial);
/* A trial that is under way is given up, and made again when the run goes on. */
void ti_trials_stop(tithe_exchange *ex);

/* control_state.c. As numbers, for a checkpoint: returns how many, and writes them if there is a place; before the next step is `step`,
 * and before anything that is kept is loaded. `before` and the `descent` of ranks belong to it. */
size_t ti_control_save(const tithe_exchange *ex, double *numbers);
/* Before a checkpoint of all processes: what each has seen of its own ranks becomes what all have. */
tithe_status ti_control_agree(tithe_exchange *ex, tithe_error *error);
tithe_status ti_control_load(tithe_exchange *ex, const double *numbers, uint32_t step, tithe_error *error);
/* The place of a setting, by its text. */
tithe_status ti_control_find(const tithe_exchange *ex, const char *options, size_t *place,
                             tithe_error *error);
/* From now on the caller decides, between two steps: first, and whenever there is another setting. */
tithe_status ti_control_follow(tithe_exchange *ex, const char *options, tithe_error *error);

/* Look at a rank's numbers [begin, begin + length) before they are put: of its gradient, and of what is put in its place. Ranks may be
 * looked at on several threads. */
void ti_control_observe(tithe_exchange *ex, unsigned rank, const float *g, const float *sent, size_t begin,
                        size_t length, double gamma);
/* The next step, if it is one of the last before a check-in, looks back at this update. */
void ti_control_remember(tithe_exchange *ex, const float *update);
/* What a rank saw in this step, as numbers to be added to the others'. */
void ti_control_tell(const tithe_exchange *ex, unsigned local);
/* A step is over. */
tithe_status ti_control_after(tithe_exchange *ex, const float *update, tithe_error *error);
/* A step was not taken, by nobody (refusal.h): what was seen of it is forgotten, and a check-in that was due is due after the
 * next one. */
void ti_control_skip(tithe_exchange *ex);

static inline bool ti_link_is_known(const tithe_link *link)
{
    return link->latency >= 0 && link->bandwidth > 0;
}

/* control_due.c: how ranks add up what they saw; the seconds that it takes on the link as it is, 0 where that is not known; and on such a
 * link those of the last step, 0 if there was no check-in. */
const tithe_collective *ti_control_collective(void);
double ti_control_cost(const tithe_exchange *ex);
double ti_control_seconds(const tithe_exchange *ex, const tithe_link *link);
/* The next check-in is due after `look` steps; 0: when it can be paid for. `keeps`: and, if it can be paid for, no later than it was. And
 * the next look at the link, likewise. */
void ti_control_plan(tithe_exchange *ex, unsigned look, bool keeps);
void ti_control_plan_watch(tithe_exchange *ex);

#endif
