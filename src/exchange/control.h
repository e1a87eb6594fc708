/* control.h - one controller for codec, level, scheme and collective: what a tuner that steers sees, and what is done with its
 * orders. It belongs to the exchange that the caller has, and speaks for all of its buckets. */
#ifndef EXCHANGE_CONTROL_H
#define EXCHANGE_CONTROL_H

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
 * codecs are worth a try. low and high: levels. */
tithe_status ti_settings_make(const tithe_exchange *ex, const tithe_exchange_config *config, double low,
                              double high, setting_list *list, tithe_error *error);
void ti_settings_free(setting_list *list);

/* ---- what ranks see of their gradients (observe.c) --------------------------------------------------------- */

/* Numbers that ranks add up at a check-in. */
enum {
    SEEN_RANKS,
    SEEN_SETTING, /* which one: they have to agree */
    SEEN_SPREAD,
    SEEN_SPREAD_KEPT,
    SEEN_DESCENT,
    SEEN_SECONDS,  /* of a step, where it is timed */
    SEEN_SKETCHES, /* from here on: a sketch of g, and one of what is kept */
    SKETCH = 32,
    SEEN = SEEN_SKETCHES + 2 * SKETCH
};

/* Of one local rank. */
typedef struct control_rank {
    double descent; /* sum over the steps since the last check-in */
    /* of this step */
    double g1, g2, x1, x2;
    float seen[SEEN];
} control_rank;

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
    tithe_view view;    /* as it was last */
    uint32_t next;      /* the step after which ranks tell each other what they saw */
    uint32_t since;     /* steps since they did */
    double spent, took; /* predicted seconds: of check-ins so far, of all steps so far */
    bool checked;       /* after the last step */
    bool looked;        /* at all */
    bool decided;       /* a first time */
    bool settled;       /* no check-in is needed for now */
    unsigned changes;
    char reason[160];
    /* where steps are timed: when the last one ended, their sum and number since the last check-in, and what one usually takes */
    bool live;
    double left, step_seconds, usual;
    unsigned timed;
    uint32_t step; /* which is being put */
    float *before; /* the update of the step before */
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
/* A step has just ended. */
void ti_control_time(exchange_control *control);

/* Look at a rank's numbers [begin, begin + length) before they are put. Ranks may be looked at on several threads. */
void ti_control_observe(tithe_exchange *ex, unsigned rank, const float *g, size_t begin, size_t length,
                        double gamma);
/* What a rank saw in this step, as numbers to be added to the others'. */
void ti_control_tell(const tithe_exchange *ex, unsigned local);
/* A step is over. */
tithe_status ti_control_after(tithe_exchange *ex, const float *update, tithe_error *error);
/* Seconds that the last step's check-in took on such a link; 0: there was none. */
double ti_control_seconds(const tithe_exchange *ex, const tithe_link *link);

#endif
