/* leader.h - whose indices all ranks take, under AR-Top-k. Everything here is a function of numbers that all ranks have,
 * so all ranks choose the same. */
#ifndef EXCHANGE_LEADER_H
#define EXCHANGE_LEADER_H

#include <stdbool.h>

#include "tithe/exchange.h"

/* The two rules of tyagi2023artopk, STAR and VAR; `auto` takes now one, now the other. */
typedef enum leader_rule { LEADER_ROUND_ROBIN, LEADER_VARIANCE, LEADER_AUTO } leader_rule;

typedef struct leader_state {
    leader_rule asked;
    unsigned long steps;    /* since the start */
    unsigned long turns;    /* of round-robin */
    double gain[2];         /* smoothed, under each rule */
    unsigned long tried[2]; /* steps under each rule */
} leader_state;

/* NULL is round-robin; false for a name that there is not. */
bool ti_leader_find(const char *name, leader_rule *rule);
const char *ti_leader_name(leader_rule rule);

/* The rule of the coming step: round-robin or variance. */
leader_rule ti_leader_next(const leader_state *s);
/* Who leads. energies[r] is what rank r selected, |top-k|^2; only variance looks at it. */
unsigned ti_leader_choose(const leader_state *s, leader_rule rule, const double *energies, unsigned size);
/* After the step: the share of the energy that it applied (scheme_artopk.c). */
void ti_leader_learn(leader_state *s, leader_rule rule, double gain);

/* As numbers, for a checkpoint: LEADER_NUMBERS of them. Loading trusts nothing. */
enum { LEADER_NUMBERS = 6 };
size_t ti_leader_save(const leader_state *s, double *numbers); /* NULL: only how many */
void ti_leader_load(leader_state *s, const double *numbers);

#endif
