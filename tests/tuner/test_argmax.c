/* test_argmax.c - cat chooses what a full sort and scan would choose, for every codec and every cost. */
#include "tuner/scan.h"

static const char *const codecs[] = {
    "topk|raw",
    "topk|sign",
    "stochastic|raw",
    "topk|natural",
    "topk|f16",
    "topk|bf16",
    "topk|dither:s=7",
    "topk|dither:s=3,bucket=16",
    "topk|natdither",
    "topk|sign:scale=norm",
    "threshold|raw",
    "threshold|sign",
    "threshold|natural",
    "mstopk|raw",
    "topk|dither:s=3,bucket=16,code=elias",
};
static const char *const costs[] = {
    "bits",
    "affine:c0=432",
    "affine:c0=0,c1=2",
    "affine:c0=1e5,c1=0.5",
    "packet:c0=64,c1=576,payload=512",
    "packet:c0=0,c1=40,payload=20",
    "packet:c1=1e6,payload=1000000",
    "802.15.4-127",
    "ethernet-udp",
    "energy",
    "alphabeta:latency=1ms,bandwidth=10Mbit",
    "alphabeta:latency=50ms,bandwidth=10Mbit,collective=tree,workers=8",
};
enum { CODECS = sizeof codecs / sizeof *codecs, COSTS = sizeof costs / sizeof *costs };

static size_t cases;

/* Long vectors: a sample decides which entries are looked at. */
static void long_vectors(void **state)
{
    (void)state;
    enum { MAX = 140000, TRIALS = 150 };
    dice d = {7};
    float *x = malloc(MAX * sizeof *x);
    assert_non_null(x);
    for (int trial = 0; trial < TRIALS; trial++) {
        const int kind = trial % IN_KINDS;
        const char *codec = codecs[roll_below(&d, CODECS)], *cost = costs[roll_below(&d, COSTS)];
        if (kind == IN_HUGE && strstr(codec, "f16")) continue;
        const size_t n = 125000 + roll_below(&d, 15000);
        asked a = ask_open(codec, cost, trial % 7 == 0, MAX);
        fill_tuned((tuned_input)kind, x, n, &d);
        if (trial % 5 == 0) /* what no sample finds */
            for (size_t i = 0; i < 3; i++) x[roll_below(&d, n)] *= kind == IN_HUGE ? 1 : 50;
        expect_argmax(&a, x, n, "long");
        ask_close(&a);
        cases++;
    }
    free(x);
}

static void ask_all(size_t n_min, size_t n_max, int trials, bool paper, uint64_t seed)
{
    dice d = {seed};
    float *x = malloc(n_max * sizeof *x);
    assert_non_null(x);
    for (size_t c = 0; c < CODECS; c++)
        for (size_t k = 0; k < COSTS; k++) {
            asked a = ask_open(codecs[c], costs[k], paper, n_max);
            for (int trial = 0; trial < trials; trial++)
                for (int kind = 0; kind < IN_KINDS; kind++) {
                    if (kind == IN_HUGE && strstr(codecs[c], "f16")) continue;
                    const size_t n = n_min + roll_below(&d, n_max - n_min + 1);
                    char what[40];
                    snprintf(what, sizeof what, "input %d", kind);
                    fill_tuned((tuned_input)kind, x, n, &d);
                    expect_argmax(&a, x, n, what);
                    cases++;
                }
            ask_close(&a);
        }
    free(x);
}

static void short_vectors(void **state)
{
    (void)state;
    ask_all(1, 12, 4, false, 1);
    ask_all(1, 300, 5, false, 2);
    ask_all(1, 300, 3, true, 3);
}

static void vectors_in_bins(void **state)
{
    (void)state;
    ask_all(4000, 9000, 1, false, 4);
    ask_all(4000, 9000, 1, true, 5);
}

static void count_cases(void **state)
{
    (void)state;
    print_message("%zu cases\n", cases);
    assert_true(cases >= 10000);
}

static void any_gamma(void **state)
{
    (void)state;
    dice d = {6};
    float x[300];
    asked a = ask_open("threshold|raw", "802.15.4", false, 300);
    for (int trial = 0; trial < 300; trial++) {
        const size_t n = 1 + roll_below(&d, 300);
        a.call.gamma = (float)exp(10 * roll_gauss(&d));
        fill_tuned((tuned_input)(trial % IN_KINDS), x, n, &d);
        expect_argmax(&a, x, n, "any gamma");
    }
    ask_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_vectors), cmocka_unit_test(vectors_in_bins), cmocka_unit_test(long_vectors),
        cmocka_unit_test(any_gamma),     cmocka_unit_test(count_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
