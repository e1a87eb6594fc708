/* leader.c - see leader.h.
 *
 * Round-robin (STAR): turn t is led by rank t mod N. Variance (VAR): the rank that selected the most energy, ties to the
 * lowest. `auto`, which tyagi2023artopk leaves as future work: both rules are tried in turn for 2 * TRIALS steps; from then on
 * the rule with the larger smoothed gain leads, and every RETRY-th step the other one, so that its gain stays fresh.
 * Variance makes every rank select and waits for a gather, so it has to gain MARGIN more. */
#include "exchange/leader.h"

#include <math.h>
#include <string.h>

enum { TRIALS = 8, RETRY = 32, MEMORY = 8 };
static const double MARGIN = 1.01;

static const char *const names[] = {"round-robin", "variance", "auto"};

bool ti_leader_find(const char *name, leader_rule *rule)
{
    *rule = LEADER_ROUND_ROBIN;
    if (!name) return true;
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *rule = (leader_rule)i;
            return true;
        }
    return false;
}

const char *ti_leader_name(leader_rule rule)
{
    return names[rule];
}

leader_rule ti_leader_next(const leader_state *s)
{
    if (s->asked != LEADER_AUTO) return s->asked;
    if (s->steps < 2 * TRIALS) return s->steps % 2 ? LEADER_VARIANCE : LEADER_ROUND_ROBIN;
    const bool variance = s->gain[LEADER_VARIANCE] > MARGIN * s->gain[LEADER_ROUND_ROBIN];
    const bool retry = s->steps % RETRY == RETRY - 1;
    return variance != retry ? LEADER_VARIANCE : LEADER_ROUND_ROBIN;
}

unsigned ti_leader_choose(const leader_state *s, leader_rule rule, const double *energies, unsigned size)
{
    if (rule == LEADER_ROUND_ROBIN) return (unsigned)(s->turns % size);
    unsigned best = 0;
    for (unsigned r = 1; r < size; r++)
        if (energies[r] > energies[best]) best = r;
    return best;
}

/* The mean at first, then one that forgets. */
void ti_leader_learn(leader_state *s, leader_rule rule, double gain)
{
    const unsigned long tried = ++s->tried[rule];
    s->gain[rule] += (gain - s->gain[rule]) / (double)(tried < MEMORY ? tried : MEMORY);
    s->turns += rule == LEADER_ROUND_ROBIN;
    s->steps++;
}

size_t ti_leader_save(const leader_state *s, double *numbers)
{
    const double all[LEADER_NUMBERS] = {
        (double)s->steps, (double)s->turns, s->gain[0], s->gain[1], (double)s->tried[0], (double)s->tried[1],
    };
    if (numbers) memcpy(numbers, all, sizeof all);
    return LEADER_NUMBERS;
}

static unsigned long count_from(double number)
{
    return number >= 0 && number < 0x1p53 ? (unsigned long)number : 0;
}

void ti_leader_load(leader_state *s, const double *numbers)
{
    s->steps = count_from(numbers[0]);
    s->turns = count_from(numbers[1]);
    for (int rule = 0; rule < 2; rule++) {
        s->gain[rule] = isfinite(numbers[2 + rule]) ? numbers[2 + rule] : 0;
        s->tried[rule] = count_from(numbers[4 + rule]);
    }
}
