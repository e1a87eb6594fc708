/* patience.h - how long to look again and again before going to sleep. Waking up takes longer than a packet does, so it pays where the
 * next one is near; where it is not, or the processor is needed by somebody else, it soon stops. */
#ifndef SWITCH_PATIENCE_H
#define SWITCH_PATIENCE_H

typedef struct patience {
    double spin; /* seconds of looking */
} patience;

static inline patience patience_start(void)
{
    return (patience){100e-6};
}

/* After a wait that took so many seconds: would looking have been enough? */
static inline void patience_learn(patience *p, double took)
{
    const double most = 100e-6, least = 5e-6;
    const double next = took < 2 * most ? 2 * p->spin : p->spin / 2;
    p->spin = next > most ? most : next < least ? least : next;
}

#endif
