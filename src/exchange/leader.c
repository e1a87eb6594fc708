/* leader.c - see leader.h.
 *
 * Round-robin (STAR): turn t is led by rank t mod N. Variance (VAR): the rank that selected the most energy, ties to the
 * lowest. `auto`, which tyagi2023artopk leaves as future work: both rules are tried in turn for 2 * TRIALS steps; from then on
 * the rule with the larger smoothed gain leads, and every RETRY-th step the other one, so that its gain stays fresh.
 * Variance makes every rank select and waits for a gather, so it has to gain MARGIN more. */
#include "exchange/leader.h"

#include <math.h>
#include <string.h>

#include "base/family.h"

enum { TRIALS = 8, RETRY = 32, MEMORY = 8 };
static const double MARGIN = 1.01;

static unsigned in_turn(const leader_state *s, const double *energies, unsigned size)
{
    (void)energies;
    return (unsigned)(s->turns % size);
}

static unsigned max_energy(const leader_state *s, const double *energies, unsigned size)
{
    (void)s;
    unsigned best = 0;
    for (unsigned r = 1; r < size; r++)
        if (energies[r] > energies[best]) best = r;
    return best;
}

enum { ROUND_ROBIN, VARIANCE };

static const tithe_leader round_robin = {
    .name = "round-robin",
    .summary = "STAR: one rank after the other, and only that one selects",
    .paper = "tyagi2023artopk",
    .known = true,
    .slot = ROUND_ROBIN,
    .choose = in_turn,
};

static const tithe_leader variance = {
    .name = "variance",
    .summary = "VAR: all ranks select, and the one with the most energy leads",
    .paper = "tyagi2023artopk",
    .slot = VARIANCE,
    .choose = max_energy,
};

static const tithe_leader *better(const leader_state *s)
{
    if (s->steps < 2 * TRIALS) return s->steps % 2 ? &variance : &round_robin;
    const bool gains = s->gain[VARIANCE] > MARGIN * s->gain[ROUND_ROBIN];
    const bool retry = s->steps % RETRY == RETRY - 1;
    return gains != retry ? &variance : &round_robin;
}

static const tithe_leader automatic = {
    .name = "auto",
    .summary = "whichever of the two has gained more lately",
    .paper = "tyagi2023artopk",
    .measures = true,
    .next = better,
};

/* In the order of the choices of artopk's parameter `leader`. */
static const tithe_leader *const leaders[] = {&round_robin, &variance, &automatic, NULL};

const tithe_leader *const *tithe_leaders(void)
{
    return leaders;
}

static family_row row(size_t i)
{
    return leaders[i] ? (family_row){leaders[i]->name, leaders[i]->params} : (family_row){0};
}

tithe_status tithe_leader_find(const char *spec, const tithe_leader **leader, double *params,
                               tithe_error *error)
{
    static const family all = {.what = "leader", .row = row};
    size_t place;
    const tithe_status status = ti_family_find(&all, spec, &place, params, error);
    if (!status) *leader = leaders[place];
    return status;
}

const tithe_leader *ti_leader_next(const leader_state *s)
{
    return s->asked->next ? s->asked->next(s) : s->asked;
}

/* The mean at first, then one that forgets. */
void ti_leader_learn(leader_state *s, const tithe_leader *rule, double gain)
{
    const unsigned long tried = ++s->tried[rule->slot];
    s->gain[rule->slot] += (gain - s->gain[rule->slot]) / (double)(tried < MEMORY ? tried : MEMORY);
    s->turns += rule->known;
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
