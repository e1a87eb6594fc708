/* test_moo.c - NSGA-II and its weights: whatever the curves, the value of the choice is within 1 % of the best of a dense grid; nothing in the front
 * is dominated; the same seed gives the same front. */
#include <math.h>

#include "support.h"
#include "tuner/pareto.h"

enum { FRONT = 40, GRID = 20001 };

/* Times that fall and gains that fall with x, as for levels that descend; shapes from steep to flat, one with a corner. */
typedef struct curves {
    double steep, floor, gain, bend;
} curves;

static void value(const void *context, double x, double *f)
{
    const curves *c = context;
    f[0] = 1 + 0.1 * (1 - x);
    f[1] = c->floor + exp(-c->steep * x);
    f[2] = 1 / (0.01 + exp(-c->gain * (x > c->bend ? 2 * x - c->bend : x)));
}

static double asf(const pareto_point *p, const double *least, const double *most, const double *weights)
{
    double worst = 0;
    for (unsigned o = 0; o < 3; o++)
        if (most[o] > least[o]) worst = fmax(worst, weights[o] * (p->f[o] - least[o]) / (most[o] - least[o]));
    return worst;
}

static void choice_is_that_of_a_grid(void **state)
{
    (void)state;
    static pareto_point grid[GRID];
    static const double gains[] = {0.1, 1, 5, 20}, steeps[] = {0.5, 3, 10, 40},
                        weights[][3] = {{0.6, 0.6, 0.4}, {0.1, 0.1, 0.9}, {0.9, 0.9, 0.1}};
    for (size_t g = 0; g < 4; g++)
        for (size_t s = 0; s < 4; s++)
            for (size_t w = 0; w < 3; w++) {
                const curves c = {steeps[s], 0.01, gains[g], g % 2 ? 0.3 : 2};
                const pareto_problem problem = {0, 1, 3, value, &c};
                double least[3] = {INFINITY, INFINITY, INFINITY}, most[3] = {-INFINITY, -INFINITY, -INFINITY},
                       best = INFINITY;
                for (size_t i = 0; i < GRID; i++) {
                    grid[i].x = (double)i / (GRID - 1);
                    value(&c, grid[i].x, grid[i].f);
                    for (unsigned o = 0; o < 3; o++) {
                        least[o] = fmin(least[o], grid[i].f[o]);
                        most[o] = fmax(most[o], grid[i].f[o]);
                    }
                }
                for (size_t i = 0; i < GRID; i++) best = fmin(best, asf(&grid[i], least, most, weights[w]));
                pareto_point front[FRONT], again[FRONT];
                const size_t count = ti_nsga2(&problem, 1, front, FRONT);
                assert_int_equal(ti_nsga2(&problem, 1, again, FRONT), count);
                expect(memcmp(front, again, count * sizeof *front) == 0, "another front with the same seed");
                pareto_point p = {.x = ti_pareto_choose(&problem, 1, weights[w])};
                value(&c, p.x, p.f);
                const double chosen = asf(&p, least, most, weights[w]);
                expect(chosen <= 1.01 * best, "steep %g, gain %g, weight %g: %g in place of %g", c.steep,
                       c.gain, weights[w][0], chosen, best);
                for (size_t i = 0; i < count; i++)
                    for (size_t j = 0; j < count; j++) {
                        bool all = true, some = false;
                        for (unsigned o = 0; o < 3; o++) {
                            all = all && front[j].f[o] <= front[i].f[o];
                            some = some || front[j].f[o] < front[i].f[o];
                        }
                        expect(!(all && some), "%g dominates %g", front[j].x, front[i].x);
                    }
            }
}

/* Where one objective says all, the end that is best for it is taken. */
static void ends_are_reached(void **state)
{
    (void)state;
    const curves c = {3, 0.01, 2, 2};
    const pareto_problem problem = {0, 1, 3, value, &c};
    const double times[] = {1, 1, 0}, gain[] = {0, 0, 1};
    expect(ti_pareto_choose(&problem, 7, times) > 0.999, "times alone");
    expect(ti_pareto_choose(&problem, 7, gain) < 0.001, "the gain alone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(choice_is_that_of_a_grid),
                                       cmocka_unit_test(ends_are_reached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
