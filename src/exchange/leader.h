/* leader.h - whose indices all ranks take, under AR-Top-k. Everything here is a function of numbers that all ranks have,
 * so all ranks choose the same. */
#ifndef EXCHANGE_LEADER_H
#define EXCHANGE_LEADER_H

#include <stdbool.h>

#include "tithe/exchange.h"

typedef struct tithe_leader_state {
    const tithe_leader *asked;
    unsigned long steps;    /* since the start */
    unsigned long turns;    /* of rules that know their leader beforehand */
    double gain[2];         /* smoothed, in the slot of each rule */
    unsigned long tried[2]; /* steps under each rule */
} leader_state;

/* The rule of the coming step: one that can choose. */
const tithe_leader *ti_leader_next(const leader_state *s);
/* After the step: the share of the energy that it applied (scheme_artopk.c). */
void ti_leader_learn(leader_state *s, const tithe_leader *rule, double gain);

/* As numbers, for a checkpoint: LEADER_NUMBERS of them. Loading trusts nothing. */
enum { LEADER_NUMBERS = 6 };
size_t ti_leader_save(const leader_state *s, double *numbers); /* NULL: only how many */
void ti_leader_load(leader_state *s, const double *numbers);

#endif
