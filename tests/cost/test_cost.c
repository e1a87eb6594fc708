/* test_cost.c - what messages cost, by hand; every model never falls; what is no cost is refused with a sentence. */
#include <time.h>

#include "support.h"

static tithe_cost *cost_of(const char *spec)
{
    tithe_cost *cost = NULL;
    tithe_error error = {0};
    if (tithe_cost_create(spec, &cost, &error)) fail_msg("%s: %s", spec, error.text);
    return cost;
}

static void known_answers(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double bits, cost;
        const char *unit;
    } known[] = {
        {"bits", 12345, 12345, "bit"},
        {"affine:c0=432", 1000, 1432, "bit"},
        {"affine:c0=1,c1=0.5", 10, 6, "bit"},
        {"packet:c0=64,c1=576,payload=512", 8, 640, "B"},
        {"packet:c0=64,c1=576,payload=512", 4096, 640, "B"},
        {"packet:c0=64,c1=576,payload=512", 4097, 1216, "B"},
        {"packet:c1=1kB,payload=0.5KiB", 4097, 2000, "B"},
        {"802.15.4", 8 * 1024, 64 + 2 * 576, "B"},
        {"802.15.4-127", 8 * 116, 133, "B"},
        {"802.15.4-127", 8 * 117, 117 + 34, "B"},
        {"ethernet-udp", 8 * 1472, 1526, "B"},
        {"ethernet-udp", 8 * 1473, 1473 + 108, "B"},
        {"energy:bit=2,packet=100,payload=10", 81, 162 + 200, "J"},
        {"alphabeta:latency=1ms,bandwidth=8Mbit", 8e6, 1.001, "s"},
        {"alphabeta:latency=0.001,bandwidth=1000000", 8e6, 1.001, "s"},
        {"alphabeta:latency=1ms,bandwidth=8Mbit/s,collective=ring,workers=5", 8e6, 4 * 1.001, "s"},
        {"alphabeta:latency=1000us,bandwidth=1MB,collective=allgather,workers=8", 8e6, 7 + 7e-3, "s"},
        {"alphabeta:latency=1ms,bandwidth=1MB,collective=tree,workers=4", 8e6, 4e-3 + 3 + 8, "s"},
        {"alphabeta:latency=1ms,bandwidth=1MB,collective=star,workers=4", 8e6, 2e-3 + 6, "s"},
        {"alphabeta:latency=0min,bandwidth=10Gbit", 1e10, 1, "s"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        tithe_cost *cost = cost_of(known[i].spec), *again = cost_of(tithe_cost_spec(cost));
        expect(fabs(tithe_cost_of(cost, known[i].bits) - known[i].cost) <= 1e-12 * known[i].cost,
               "%s: %.17g is not %g", known[i].spec, tithe_cost_of(cost, known[i].bits), known[i].cost);
        assert_true(tithe_cost_of(again, known[i].bits) == tithe_cost_of(cost, known[i].bits));
        assert_string_equal(tithe_cost_unit(cost), known[i].unit);
        tithe_cost_free(cost);
        tithe_cost_free(again);
    }
    assert_true(tithe_cost_of(NULL, 17) == 17);
    assert_string_equal(tithe_cost_spec(NULL), "bits");
    assert_string_equal(tithe_cost_unit(NULL), "bit");
    tithe_cost_free(NULL);
}

static const char *const examples[] = {
    "bits",
    "affine:c0=432",
    "802.15.4",
    "802.15.4-127",
    "ethernet-udp",
    "energy",
    "packet:c1=7,payload=3",
    "alphabeta:latency=1ms,bandwidth=10Mbit",
    "alphabeta:latency=0,bandwidth=1kB,collective=tree,workers=5",
};

static void costs_never_fall_and_lines_lie_below(void **state)
{
    (void)state;
    dice d = {1};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        tithe_cost *cost = cost_of(examples[i]);
        const tithe_cost_model *model = tithe_cost_model_of(cost);
        double before = 0;
        for (double bits = 1; bits < 20000; bits++) {
            const double now = tithe_cost_of(cost, bits);
            assert_true(now >= before && now > 0 && isfinite(now));
            before = now;
        }
        for (int trial = 0; trial < 2000 && model->below; trial++) {
            const double from = floor(50000 * roll_unit(&d)), width = floor(5000 * roll_unit(&d)),
                         u = roll_unit(&d);
            double line[2];
            model->below(cost, from, from + width, line);
            const double at = floor(u * width),
                         low = width > 0 ? line[0] + (line[1] - line[0]) * at / width : line[0];
            expect(low <= tithe_cost_of(cost, from + at) * (1 + 1e-12), "%s: the line is above at %g",
                   examples[i], from + at);
        }
        tithe_cost_free(cost);
    }
}

static void mistakes_get_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *says;
    } bad[] = {
        {"", "There is no cost ''"},
        {"packets",
         "take one of bits, affine, packet, frames, energy, table, alphabeta, 802.15.4, 802.15.4-127"},
        {"affine", "needs c0="},
        {"affine:c0=-1", "from 0"},
        {"affine:c0=nan", "must be a number"},
        {"affine:c0=inf", "must be a number"},
        {"affine:c0=0,c1=0", "0 for every message"},
        {"affine:c0=1,c2=3", "has no parameter \"c2\""},
        {"packet:c0=64,c1=576", "needs payload="},
        {"packet:c1=576,payload=0", "from 1"},
        {"packet:c1=576,payload=5ms", "such as 1472B"},
        {"packet:c1=0,payload=8", "0 for every message"},
        {"energy:bit=0,packet=0", "0 for every message"},
        {"alphabeta:latency=1ms", "needs bandwidth="},
        {"alphabeta:latency=1m,bandwidth=1kB", "such as 5ms"},
        {"alphabeta:latency=1ms,bandwidth=10Mbyte", "such as 100Mbit"},
        {"alphabeta:latency=1ms,bandwidth=0", "from 0.001"},
        {"alphabeta:latency=1ms,bandwidth=1kB,collective=ring", "at least 2"},
        {"alphabeta:latency=1ms,bandwidth=1kB,collective=mesh", "link|allgather|ring|tree|star"},
        {"table", "needs a file"},
        {"table:/no/such/file", "cannot be read"},
        {"table:/", "/"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tithe_cost *cost = NULL;
        tithe_error error = {0};
        const tithe_status status = tithe_cost_create(bad[i].spec, &cost, &error);
        expect(status == (strncmp(bad[i].spec, "table:", 6) ? TITHE_E_SPEC : TITHE_E_FILE), "%s: %d",
               bad[i].spec, status);
        expect(strstr(error.text, bad[i].says), "%s: \"%s\" does not say \"%s\"", bad[i].spec, error.text,
               bad[i].says);
        assert_null(cost);
    }
    assert_int_equal(tithe_cost_create(NULL, NULL, NULL), TITHE_E_ARGUMENT);
}

/* ---- tables ------------------------------------------------------------------------------------------------ */

static char path[64];

static tithe_status read_table(const char *text, tithe_cost **cost, tithe_error *error)
{
    char spec[100];
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    snprintf(spec, sizeof spec, "table:%s", path);
    return tithe_cost_create(spec, cost, error);
}

static void tables_are_joined_by_lines(void **state)
{
    (void)state;
    static const char *const good[] = {
        "100,1\n200,3\n400,3\n",
        "bytes,seconds\r\n100,1\r\n200,3\r\n400,3\r\n",
        "# measured\n\n 100 , 1.0 # short\n200;3e0\n400 3",
        ("{\"latency_s\": 0.5, \"bandwidth_Bps\": 50,\n \"points\": [{\"bytes\": 100, \"seconds\": 1},\n"
         "{\"seconds\":3,\"bytes\":200},{\"bytes\":400,\"seconds\":3.0}]}"),
    };
    static const double expected[][2] = {{100, 1}, {150, 2},  {200, 3},   {300, 3},
                                         {400, 3}, {4000, 3}, {75, 0.75}, {10, 0.1}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        tithe_cost *cost = NULL;
        tithe_error error = {0};
        if (read_table(good[i], &cost, &error)) fail_msg("%s: %s", good[i], error.text);
        for (size_t j = 0; j < sizeof expected / sizeof *expected; j++)
            assert_float_equal(tithe_cost_of(cost, 8 * expected[j][0]), expected[j][1], 1e-12);
        assert_string_equal(tithe_cost_unit(cost), "s");
        tithe_cost *again = cost_of(tithe_cost_spec(cost));
        assert_float_equal(tithe_cost_of(again, 1200), 2, 1e-12);
        tithe_cost_free(again);
        tithe_cost_free(cost);
    }
}

static void bad_tables_name_file_and_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "no point"},
        {"100,1\n", "one point makes no line"},
        {"100,1\n200\n", "line 2: this is not a point"},
        {"100,1\nx,y\n", "line 2: this is not a point"},
        {"100,1\n200,2,3\n", "line 2: this is not a point"},
        {"200,1\n100,2\n", "line 2: 100 bytes come after 200"},
        {"100,1\n100,2\n", "line 2: 100 bytes come after 100"},
        {"100,2\n\n200,1\n", "line 3: 200 bytes take 1 s, but 100 take 2"},
        {"100,-1\n200,1\n", "line 1: bytes and seconds must be finite and not negative"},
        {"100,nan\n200,1\n", "line 1: this is not a point"},
        {"{\"latency_s\":1}", "no \"points\""},
        {"{\"points\":[{\"bytes\":1}]}", "\"bytes\" and \"seconds\""},
        {"{\"points\":[{\"bytes\":1,\"seconds\":\"x\"}]}", "\"bytes\" and \"seconds\""},
        {"{\"points\":[{\"bytes\":1,\"seconds\":2},\n{\"bytes\":2,\"seconds\":1}]}", "line 2: 2 bytes take"},
        {"{\"points\":[{\"bytes\":1,\"seconds\":2},{\"bytes\":2,\"seconds\":3}", "does not end"},
        {"1,0\n2,0\n", "0 for every message"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tithe_cost *cost = NULL;
        tithe_error error = {0};
        const tithe_status status = read_table(bad[i].text, &cost, &error);
        expect(status == TITHE_E_DATA || status == TITHE_E_SPEC, "taken: %s", bad[i].text);
        expect(strstr(error.text, bad[i].says), "\"%s\": \"%s\" does not say \"%s\"", bad[i].text, error.text,
               bad[i].says);
    }
}

/* ---- one's own ---------------------------------------------------------------------------------------------- */

static double own_of(const tithe_cost *cost, double bits)
{
    return tithe_cost_params(cost)[0] + sqrt(bits);
}
static double negative_of(const tithe_cost *cost, double bits)
{
    (void)cost;
    return bits - 100;
}
static double falling_of(const tithe_cost *cost, double bits)
{
    (void)cost;
    return bits < 1e6 ? 100 : 50;
}
static double endless_of(const tithe_cost *cost, double bits)
{
    (void)cost;
    return bits < 1e6 ? bits : INFINITY;
}

static void ones_own(void **state)
{
    (void)state;
    static const tithe_param params[] = {
        {.name = "start", .doc = "ahead", .fallback = 3, .min = 0, .max = 10}, {0}};
    tithe_cost_model own = {
        .name = "own", .summary = "", .paper = "-", .unit = "x", .params = params, .of = own_of};
    const double five = 5, eleven = 11;
    tithe_cost *cost = NULL;
    tithe_error error = {0};
    assert_int_equal(tithe_cost_make(&own, NULL, &cost, &error), TITHE_OK);
    assert_true(tithe_cost_of(cost, 16) == 7 && strcmp(tithe_cost_spec(cost), "own") == 0);
    tithe_cost_free(cost);
    assert_int_equal(tithe_cost_make(&own, &five, &cost, &error), TITHE_OK);
    assert_true(tithe_cost_of(cost, 16) == 9 && strcmp(tithe_cost_spec(cost), "own:start=5") == 0);
    assert_ptr_equal(tithe_cost_model_of(cost), &own);
    tithe_cost_free(cost);
    assert_int_equal(tithe_cost_make(&own, &eleven, &cost, &error), TITHE_E_SPEC);
    assert_int_equal(tithe_cost_make(NULL, NULL, &cost, &error), TITHE_E_ARGUMENT);
    static const struct {
        double (*of)(const tithe_cost *cost, double bits);
        const char *says;
    } bad[] = {{negative_of, "of 1 bits is -99"}, {falling_of, "falls from 100 at"}, {endless_of, "is inf"}};
    own.params = NULL;
    for (int i = 0; i < 3; i++) {
        own.of = bad[i].of;
        assert_int_equal(tithe_cost_make(&own, NULL, &cost, &error), TITHE_E_SPEC);
        expect(strstr(error.text, bad[i].says), "\"%s\" does not say \"%s\"", error.text, bad[i].says);
    }
}

int main(void)
{
    snprintf(path, sizeof path, "cost-table-%ld.tmp", (long)clock() + (long)time(NULL));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(costs_never_fall_and_lines_lie_below),
        cmocka_unit_test(mistakes_get_a_sentence),
        cmocka_unit_test(tables_are_joined_by_lines),
        cmocka_unit_test(bad_tables_name_file_and_line),
        cmocka_unit_test(ones_own),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return failed;
}
