/* slow_random.c - as test_argmax.c, with costs drawn at random, measured tables and costs of one's own among them. */
#include <unistd.h>

#include "tuner/scan.h"

static const char *const codecs[] = {
    "topk|raw",      "topk|sign",      "stochastic|raw",    "topk|natural", "topk|dither:s=3",
    "threshold|raw", "threshold|sign", "threshold|natural", "mstopk|sign",  "topk|natdither:s=3,bucket=20",
};
enum { CODECS = sizeof codecs / sizeof *codecs };

static double own_of(const tithe_cost *cost, double bits)
{
    const double *p = tithe_cost_params(cost);
    return p[0] + p[1] * sqrt(bits) + p[2] * floor(bits / p[3]);
}

static const tithe_param own_params[] = {
    {.name = "a", .doc = "a", .fallback = 1, .min = 0, .max = 1e9},
    {.name = "b", .doc = "b", .fallback = 1, .min = 0, .max = 1e9},
    {.name = "c", .doc = "c", .fallback = 1, .min = 0, .max = 1e9},
    {.name = "d", .doc = "d", .fallback = 1, .min = 1, .max = 1e9},
    {0},
};
static const tithe_cost_model own_model = {
    .name = "own", .summary = "-", .paper = "-", .unit = "-", .params = own_params, .of = own_of};

static char path[64];

static double wide(dice *d, double octaves)
{
    return exp2(octaves * roll_unit(d));
}

static tithe_cost *random_cost(dice *d)
{
    tithe_cost *cost = NULL;
    tithe_error error = {0};
    char spec[160];
    switch (roll_below(d, 6)) {
    case 0: snprintf(spec, sizeof spec, "affine:c0=%.6g,c1=%.6g", wide(d, 20) - 1, wide(d, 8) / 16); break;
    case 1:
        snprintf(spec, sizeof spec, "packet:c0=%.6g,c1=%.6g,payload=%.0f", wide(d, 12) - 1, wide(d, 12),
                 wide(d, 12));
        break;
    case 2: snprintf(spec, sizeof spec, "frames:header=%.0f,payload=%.0f", wide(d, 8), wide(d, 10)); break;
    case 3:
        snprintf(spec, sizeof spec, "alphabeta:latency=%.6gus,bandwidth=%.6gkbit", wide(d, 20), wide(d, 20));
        break;
    case 4: {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        double bytes = 0, seconds = roll_unit(d);
        for (size_t i = 2 + roll_below(d, 8); i > 0; i--) {
            bytes += ceil(wide(d, 10));
            seconds += roll_below(d, 3) ? wide(d, 8) : 0;
            fprintf(file, "%.17g,%.17g\n", bytes, seconds);
        }
        fclose(file);
        snprintf(spec, sizeof spec, "table:%s", path);
        break;
    }
    default: {
        const double params[] = {wide(d, 10) - 1, roll_below(d, 2) ? wide(d, 6) : 0, wide(d, 10),
                                 ceil(wide(d, 12))};
        if (tithe_cost_make(&own_model, params, &cost, &error)) fail_msg("%s", error.text);
        return cost;
    }
    }
    if (tithe_cost_create(spec, &cost, &error)) fail_msg("%s: %s", spec, error.text);
    return cost;
}

static void random_costs(void **state)
{
    (void)state;
    enum { MAX = 6000, TRIALS = 60000 };
    static float x[MAX];
    dice d = {11};
    size_t cases = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        const size_t n = trial % 50 ? 1 + roll_below(&d, 300) : 4000 + roll_below(&d, MAX - 4000);
        asked a = ask_open(codecs[roll_below(&d, CODECS)], "bits", trial % 3 == 0, n);
        tithe_cost_free(a.cost);
        a.call.cost = a.cost = random_cost(&d);
        fill_tuned((tuned_input)roll_below(&d, IN_KINDS), x, n, &d);
        expect_argmax(&a, x, n, "random");
        cases++;
        ask_close(&a);
    }
    print_message("%zu cases\n", cases);
    assert_true(cases >= 50000);
}

int main(void)
{
    snprintf(path, sizeof path, "random-cost-%ld.tmp", (long)getpid());
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_costs)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return failed;
}
