/* test_plan.c - the plan against itself: break-even bandwidth, frames, edges. */
#include "base/rng.h"
#include "codec/codec.h"
#include "exchange/group.h"

static double uniform(uint64_t *state)
{
    return (double)(rng_mix(*state += RNG_GOLDEN) >> 11) * 0x1p-53;
}

static bool compressed_wins(tithe_plan_request q, double bandwidth)
{
    tithe_plan_row rows[40];
    tithe_plan plan;
    q.link.bandwidth = bandwidth;
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    return rows[plan.winner].keep < 1;
}

/* Just below it a compressed row wins; just above, a dense one, as the smallest dense time is compared with. */
static void below_break_even_it_pays(void **state)
{
    (void)state;
    uint64_t random = 7;
    unsigned finite = 0;
    for (int i = 0; i < 2000; i++) {
        const double keeps[] = {pow(10, -1 - 3 * uniform(&random)), pow(10, -1 - 3 * uniform(&random))};
        const tithe_plan_request q = {
            .params = floor(pow(10, 3 + 5 * uniform(&random))),
            .workers = 2 + (unsigned)(63 * uniform(&random)),
            .link = {.latency = pow(10, -5 + 4 * uniform(&random)), .bandwidth = 1e8},
            .keeps = keeps,
            .keep_count = 2,
            .count_paper = i % 2,
            .speed = {1e-9 * uniform(&random), 3e-9 * uniform(&random), 3e-9 * uniform(&random),
                      1e-9 * uniform(&random)},
        };
        tithe_plan_row rows[40];
        tithe_plan plan;
        assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
        if (plan.break_even == 0 || isinf(plan.break_even)) continue;
        finite++;
        assert_true(compressed_wins(q, plan.break_even * 0.999));
        assert_false(compressed_wins(q, plan.break_even * 1.001));
    }
    assert_true(finite > 500);
}

static void expect_near(double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within)) fail_msg("%.12g, not %.12g", value, expected);
}

static const tithe_plan_row *find(const tithe_plan_row *rows, size_t count, const char *scheme,
                                  const char *collective)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].scheme, scheme) == 0 && strcmp(rows[i].collective, collective) == 0)
            return &rows[i];
    fail_msg("there is no row %s %s", scheme, collective);
    return NULL;
}

static double likely_frame(size_t n, size_t k)
{
    char spec[40];
    snprintf(spec, sizeof spec, "topk:k=%zu", k);
    tithe_codec *codec = codec_with(spec, (tithe_codec_options){0});
    const double frame = (double)ti_codec_expected_length(codec, n);
    tithe_codec_free(codec);
    return frame;
}

/* --count frame charges what a codec is likely to write, in the rounds that there really are; --count paper neither. */
static void frames_are_real(void **state)
{
    (void)state;
    const double keeps[] = {0.01};
    tithe_plan_request q = {.params = 100000,
                            .workers = 4,
                            .link = {.latency = 1e-3, .bandwidth = 1e6},
                            .keeps = keeps,
                            .keep_count = 1};
    tithe_plan_row rows[40];
    tithe_plan plan;
    const double frame = likely_frame(100000, 1000);
    const struct {
        const char *scheme, *collective;
        double own, paper; /* seconds; 0: the paper has no such row */
    } expected[] = {
        {"dense", "star", 2e-3 + 6 * 0.4, 2e-3 + 6 * 0.4},
        {"dense", "ring", 6e-3 + 1.5 * 0.4, 6e-3 + 1.5 * 0.4},
        {"dense", "tree", 4e-3 + 4 * 0.4, 4e-3 + 4 * 0.4},
        {"dense", "direct", 11e-3 + 1.5 * 0.4 + 5e-6, 0}, /* parts of 100 kB: in turns */
        {"gather", "allgather", 6e-3 + (3 * 8 + 3 * frame) / 1e6, 2e-3 + 3 * 8000 / 1e6},
        {"gather", "tree", 8e-3 + 11 * (8 + frame) / 1e6, 0},
        {"star", "star", 2e-3 + (6 * frame + 3 * 16 + 3 * 8) / 1e6, 0}, /* frames are announced */
        {"artopk", "ring", 8e-3 + (1.5 * 4000 + 2 * (8 + frame - 4000)) / 1e6, 8e-3 + 3.5 * 4000 / 1e6},
        {"artopk", "tree", 6e-3 + (4 * 4000 + 2 * (8 + frame - 4000)) / 1e6, 6e-3 + 6 * 4000 / 1e6},
        {"artopk", "star", 4e-3 + (6 * 4000 + 2 * (8 + frame - 4000)) / 1e6, 0},
        {"artopk", "direct", 4e-3 + (1.5 * 4000 + 2 * (8 + frame - 4000)) / 1e6, 0},
    };
    enum { ROWS = sizeof expected / sizeof *expected };
    for (int paper = 0; paper < 2; paper++) {
        q.count_paper = paper;
        const size_t count = tithe_plan_rows(&q);
        assert_int_equal(count, paper ? 6 : ROWS);
        assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
        for (size_t i = 0; i < ROWS; i++) {
            const double seconds = paper ? expected[i].paper : expected[i].own;
            if (seconds > 0)
                expect_near(find(rows, count, expected[i].scheme, expected[i].collective)->network_seconds,
                            seconds, 1e-12);
        }
    }
}

/* ---- against the exchange that runs ------------------------------------------------------------------------------ */

/* Every row is a step of an exchange with the options that it names: where frames are as long as expected, the exchange
 * states the same time. k = 1 at the last place needs all bits of an index; with every other entry a bitmap is the
 * shortest. */
static void check_rows(unsigned ranks, size_t n, size_t k, double within)
{
    const double keeps[] = {(double)k / (double)n};
    const tithe_plan_request q = {.params = (double)n,
                                  .workers = ranks,
                                  .link = {.latency = 1e-5, .bandwidth = 1e8},
                                  .keeps = keeps,
                                  .keep_count = 1};
    tithe_plan_row rows[40];
    tithe_plan plan;
    char spec[40];
    snprintf(spec, sizeof spec, "topk:k=%zu", k);
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    for (size_t i = 0; i < tithe_plan_rows(&q); i++) {
        const bool whole = rows[i].keep == 1, star = strcmp(rows[i].scheme, "star") == 0;
        const wanted w = {.codec = whole ? "all|raw" : spec,
                          .feedback = whole ? NULL : "ec",
                          .downlink = star ? spec : NULL,
                          .scheme = rows[i].scheme,
                          .collective = rows[i].collective,
                          .ranks = ranks,
                          .n = n};
        group *g = group_make(&w);
        float *x = calloc(ranks * n, sizeof *x);
        for (unsigned r = 0; r < ranks; r++)
            for (size_t j = 0; j < k; j++) x[r * n + n - 1 - j * (n / k)] = 1; /* all choose the same */
        group_put_all(g, x, 1);
        group_finish(g);
        const double seconds = tithe_exchange_seconds(g->ex, &q.link);
        expect(fabs(seconds - rows[i].network_seconds) <= within * seconds,
               "%s over %s, %u ranks, %zu of %zu: planned %.9g s, stated %.9g s", rows[i].scheme,
               rows[i].collective, ranks, k, n, rows[i].network_seconds, seconds);
        group_free(g);
        free(x);
    }
}

static void rows_are_steps(void **state)
{
    (void)state;
    for (unsigned ranks = 1; ranks <= 9; ranks++) {
        check_rows(ranks, 4096, 2048, 0.01);
        check_rows(ranks, 65536, 1, 0.01);
        check_rows(ranks, 100000, 500, 0.05); /* even gaps, which are not quite as drawn ones */
    }
    check_rows(64, 65536, 8, 0.05);
}

/* ---- codecs that are named ---------------------------------------------------------------------------------- */

static const tithe_plan_codec named[] = {
    {.spec = "natural"},         {.spec = "all|f16"},        {.spec = "all|dither:s=7,bucket=100"},
    {.spec = "randk:keep=0.25"}, {.spec = "topk:keep=0.25"}, {.spec = "topk:k=300|natural"}};
enum { NAMED = sizeof named / sizeof *named, MAX_NAMED = 100 };

static double run_row(const tithe_plan_row *row, const tithe_plan_request *q, const float *x)
{
    tithe_comm comm = ranks_here(q->workers);
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    const size_t n = (size_t)q->params;
    float *update = malloc(n * sizeof *update);
    expect(tithe_exchange_open(&comm, row->options, n, &ex, &error) == TITHE_OK, "%s: %s", row->options,
           error.text);
    for (unsigned r = 0; r < q->workers; r++)
        expect(tithe_exchange_put(ex, r, 0, x + r * n, 0.5, &error) == TITHE_OK, "%s", error.text);
    expect(tithe_exchange_finish(ex, update, &error) == TITHE_OK, "%s", error.text);
    const double seconds = tithe_exchange_seconds(ex, &q->link);
    tithe_exchange_free(ex);
    free(update);
    return seconds;
}

/* Every row of a codec is a step, too: to the last digits where frames have one length. */
static void check_named(unsigned ranks, size_t n)
{
    const tithe_plan_request q = {.params = (double)n,
                                  .workers = ranks,
                                  .link = {.latency = 1e-5, .bandwidth = 1e8},
                                  .codecs = named,
                                  .codec_count = NAMED};
    tithe_plan_row rows[MAX_NAMED];
    tithe_plan plan;
    const size_t count = tithe_plan_rows(&q);
    unsigned with[NAMED] = {0};
    float *x = gradients_make(ranks, n, 0);
    assert_true(count < MAX_NAMED);
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].codec) continue;
        size_t c = 0;
        while (named[c].spec != rows[i].codec) c++;
        const double planned = rows[i].network_seconds, seconds = run_row(&rows[i], &q, x);
        const double within = c < 4 ? 1e-9 : 0.05;
        with[c]++;
        expect(planned - seconds <= within * seconds && seconds - rows[i].network_most <= within * seconds,
               "%s, %u ranks, n = %zu: planned %.9g to %.9g s, stated %.9g s", rows[i].options, ranks, n,
               planned, rows[i].network_most, seconds);
        expect(rows[i].network_most == planned ||
                   (c >= 4 && ranks > 1 && strcmp(rows[i].scheme, "shards") == 0),
               "%s: planned %.9g to %.9g s", rows[i].options, planned, rows[i].network_most);
    }
    free(x);
    /* gather has two collectives, shards two, star one; artopk four where values are raw, otherwise one; a switch adds
     * natural and dither */
    const unsigned expected[NAMED] = {6, 5, 6, 5, 9, 6};
    for (size_t c = 0; c < NAMED; c++) assert_int_equal(with[c], expected[c]);
}

static void rows_of_codecs_are_steps(void **state)
{
    (void)state;
    for (unsigned ranks = 1; ranks <= 9; ranks++) {
        check_named(ranks, 1000);
        check_named(ranks, 4096);
        check_named(ranks, 2560 * ranks + 1);
        if (ranks % 4 == 1) check_named(ranks, 100003);
    }
    check_named(64, 60000);
}

/* ---- where the largest crowd ---------------------------------------------------------------------------------- */

/* Every rank has `k` large numbers: spread evenly over the vector, or over the part that begins at `first`. */
static float *large_ones(unsigned ranks, size_t n, size_t k, bool even, size_t first)
{
    float *x = calloc(ranks * n, sizeof *x);
    assert_non_null(x);
    for (unsigned r = 0; r < ranks; r++)
        for (size_t j = 0; j < k; j++)
            x[r * n + (even ? j * (n / k) : first + j * (n / ranks / k))] = (float)(k + j);
    return x;
}

/* Both ends of what a plan says are steps that there are: entries that lie in all parts alike, and all of them in one part,
 * whichever that is. */
static void check_end(unsigned ranks, size_t n, size_t k, const char *quantizer, bool even, double within)
{
    char spec[40];
    snprintf(spec, sizeof spec, "topk:k=%zu|%s", k, quantizer);
    const tithe_plan_codec one = {.spec = spec};
    const tithe_plan_request q = {.params = (double)n,
                                  .workers = ranks,
                                  .link = {.latency = 1e-5, .bandwidth = 1e8},
                                  .codecs = &one,
                                  .codec_count = 1};
    tithe_plan_row rows[40];
    tithe_plan plan;
    unsigned seen = 0;
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    for (size_t i = 0; i < tithe_plan_rows(&q); i++) {
        if (strcmp(rows[i].scheme, "shards") != 0) continue;
        const double planned = even ? rows[i].network_seconds : rows[i].network_most;
        for (unsigned part = 0; part < (even ? 1 : ranks); part++) {
            float *x = large_ones(ranks, n, k, even, n / ranks * part);
            const double seconds = run_row(&rows[i], &q, x);
            const double over = even ? within : 1e-9; /* nothing takes longer than all in one part */
            expect(seconds <= planned * (1 + over) && planned <= (1 + within) * seconds,
                   "%s, %u ranks, %zu numbers, %s: planned %.9g s, stated %.9g s", rows[i].options, ranks, n,
                   even ? "spread" : "crowded", planned, seconds);
            free(x);
        }
        seen++;
    }
    assert_int_equal(seen, 2);
}

/* Of every other number a bitmap says which they are: such frames are as long as their bound. */
static void both_ends_are_steps(void **state)
{
    (void)state;
    for (unsigned ranks = 2; ranks <= 9; ranks++) {
        const size_t part = 2560, n = part * ranks;
        check_end(ranks, n, n / 2, "raw", true, 0.01);
        check_end(ranks, n, part / 2, "raw", false, 0.01);
        check_end(ranks, n, part / 2, "natural", false, 0.01);
        check_end(ranks, n, part, "raw", false, 0.05); /* all of a part: one entry less might need indices */
        check_end(ranks, n, 32 * ranks, "raw", true, 0.05);
        check_end(ranks, n, 32 * ranks, "raw", false, 0.05);
    }
}

/* A row for a switch where no codec was named, and none but that. */
static void a_switch_has_its_row(void **state)
{
    (void)state;
    const tithe_plan_codec natural = {.spec = "all|natural"};
    const double keep = 0.01;
    tithe_plan_request q = {.params = 100000,
                            .workers = 4,
                            .link = {.latency = 1e-4, .bandwidth = 1e7},
                            .keeps = &keep,
                            .keep_count = 1};
    tithe_plan_row rows[40];
    tithe_plan plan;
    const size_t without = tithe_plan_rows(&q);
    q.summed = &natural;
    assert_int_equal(tithe_plan_rows(&q), without + 1);
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    const tithe_plan_row *row = &rows[without];
    assert_string_equal(row->scheme, "switch");
    float *x = gradients_make(q.workers, (size_t)q.params, 0);
    expect_near(row->network_seconds, run_row(row, &q, x), 1e-9);
    free(x);
    /* 391 exponents in one packet, 100000 bytes in 70: two latencies each, and the last packet of each on its way back */
    const double bytes = 100000 + 70 * 36 + 391 + 36, last = 391 + 36 + 100000 - 69 * 1432 + 36;
    expect_near(row->network_seconds, 4 * 1e-4 + (bytes + last) / 1e7, 1e-9);
    const size_t in_paper = (q.count_paper = true, tithe_plan_rows(&q));
    q.summed = NULL;
    assert_int_equal(tithe_plan_rows(&q), in_paper);
}

/* A million workers are as cheap to ask as two, and codecs cost what was measured. */
static void codecs_are_charged(void **state)
{
    (void)state;
    const tithe_plan_codec one = {.spec = "natural", .encode_value = 1e-9, .decode_value = 3e-9};
    const tithe_plan_request q = {.params = 1e9,
                                  .workers = 1000000,
                                  .link = {.latency = 1e-5, .bandwidth = 1e8},
                                  .codecs = &one,
                                  .codec_count = 1};
    tithe_plan_row rows[40];
    tithe_plan plan;
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    expect_near(find(rows, tithe_plan_rows(&q), "shards", "ring")->codec_seconds, 1.000001 + 6, 1e-6);
    expect_near(find(rows, tithe_plan_rows(&q), "star", "star")->codec_seconds, 2 + 1000001 * 3.0, 1e-3);
}

static void codecs_that_do_not_tell_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *word;
    } wrong[] = {{"threshold:lambda=2", "data"},
                 {"topk", "level"},
                 {"topk:rule=l2", "data"},
                 {"given", "data"},
                 {"naturel", "natural"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tithe_plan_codec one = {.spec = wrong[i].spec};
        const tithe_plan_request q = {.params = 1000,
                                      .workers = 4,
                                      .link = {.latency = 1e-5, .bandwidth = 1e8},
                                      .codecs = &one,
                                      .codec_count = 1};
        tithe_plan_row rows[40];
        tithe_plan plan;
        tithe_error error = {0};
        assert_int_equal(tithe_plan_make(&q, rows, &plan, &error), TITHE_E_SPEC);
        expect(strstr(error.text, wrong[i].word), "%s: '%s'", wrong[i].spec, error.text);
        assert_int_equal(tithe_speed_measure_codec(&one, &error), TITHE_E_SPEC);
    }
    tithe_plan_request q = {.params = 1000,
                            .workers = 4,
                            .link = {.latency = 1e-5, .bandwidth = 1e8},
                            .count_paper = true,
                            .codecs = named,
                            .codec_count = 1};
    tithe_plan_row rows[40];
    tithe_plan plan;
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_E_ARGUMENT);
}

/* Each row can be made as its options say, and no two rows are the same. */
static void rows_name_their_options(void **state)
{
    (void)state;
    const double keeps[] = {0.05, 0.01};
    for (int paper = 0; paper < 2; paper++) {
        const tithe_plan_request q = {.params = 1000,
                                      .workers = 4,
                                      .link = {.latency = 1e-3, .bandwidth = 1e8},
                                      .keeps = keeps,
                                      .keep_count = 2,
                                      .count_paper = paper};
        tithe_plan_row rows[40];
        tithe_plan plan;
        char expected[200];
        assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
        for (size_t i = 0; i < tithe_plan_rows(&q); i++) {
            int used = snprintf(expected, sizeof expected, "scheme=%s;collective=%s", rows[i].scheme,
                                rows[i].collective);
            if (rows[i].keep < 1)
                used += snprintf(expected + used, sizeof expected - (size_t)used, ";codec=topk:keep=%g",
                                 rows[i].keep);
            if (strcmp(rows[i].scheme, "star") == 0)
                snprintf(expected + used, sizeof expected - (size_t)used, ";downlink=topk:keep=%g",
                         rows[i].keep);
            assert_string_equal(rows[i].options, expected);
            tithe_comm *comm;
            tithe_exchange *ex;
            assert_int_equal(tithe_comm_local(4, &comm, NULL), TITHE_OK);
            assert_int_equal(tithe_exchange_open(comm, rows[i].options, 1000, &ex, NULL), TITHE_OK);
            tithe_exchange_free(ex);
            tithe_comm_free(comm);
            for (size_t j = 0; j < i; j++) assert_string_not_equal(rows[i].options, rows[j].options);
        }
    }
}

/* Gathered frames are charged as they are, also where they are longer together than the vector. */
static void long_frames_are_charged(void **state)
{
    (void)state;
    const double keeps[] = {0.9};
    const tithe_plan_request q = {.params = 100000,
                                  .workers = 8,
                                  .link = {.latency = 1e-3, .bandwidth = 1e6},
                                  .keeps = keeps,
                                  .keep_count = 1};
    tithe_plan_row rows[40];
    tithe_plan plan;
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    expect_near(find(rows, tithe_plan_rows(&q), "gather", "allgather")->network_seconds,
                14e-3 + 7 * (8 + likely_frame(100000, 90000)) / 1e6, 1e-12);
}

/* ---- a link from a cost ------------------------------------------------------------------------------------ */

/* A straight line gives the times of its latency and bandwidth, which are found again. */
static void a_cost_is_a_link(void **state)
{
    (void)state;
    const double keeps[] = {0.01};
    tithe_cost *cost;
    tithe_plan_request q = {.params = 1000000,
                            .workers = 5,
                            .link = {.latency = 2e-3, .bandwidth = 5e6},
                            .keeps = keeps,
                            .keep_count = 1};
    tithe_plan_row by_link[40], by_cost[40];
    tithe_plan one, other;
    tithe_link link = {0};
    assert_int_equal(tithe_cost_create("alphabeta:latency=2ms,bandwidth=5e6", &cost, NULL), TITHE_OK);
    assert_int_equal(tithe_link_of_cost(cost, &link, NULL), TITHE_OK);
    expect_near(link.latency, 2e-3, 2e-5);
    expect_near(link.bandwidth, 5e6, 1);
    assert_int_equal(tithe_plan_make(&q, by_link, &one, NULL), TITHE_OK);
    q.link = link;
    assert_int_equal(tithe_plan_make(&q, by_cost, &other, NULL), TITHE_OK);
    for (size_t i = 0; i < tithe_plan_rows(&q); i++)
        expect_near(by_link[i].seconds, by_cost[i].seconds, 1e-9);
    assert_int_equal(one.winner, other.winner);
    tithe_cost_free(cost);
    assert_int_equal(tithe_cost_create("packet:c1=576,payload=512", &cost, NULL), TITHE_OK);
    assert_int_equal(tithe_link_of_cost(cost, &link, NULL), TITHE_E_ARGUMENT); /* bytes are no seconds */
    tithe_cost_free(cost);
    assert_int_equal(
        tithe_cost_create("alphabeta:latency=2ms,bandwidth=5e6,collective=ring,workers=4", &cost, NULL),
        TITHE_OK);
    assert_int_equal(tithe_link_of_cost(cost, &link, NULL),
                     TITHE_E_ARGUMENT); /* nor is a collective a link */
    tithe_cost_free(cost);
}

static void nobody_to_talk_to(void **state)
{
    (void)state;
    const double keeps[] = {0.1};
    const tithe_plan_request q = {
        .params = 10, .workers = 1, .link = {.latency = 1, .bandwidth = 1}, .keeps = keeps, .keep_count = 1};
    tithe_plan_row rows[40];
    tithe_plan plan;
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    for (size_t i = 0; i < tithe_plan_rows(&q); i++) assert_true(rows[i].network_seconds == 0);
    assert_true(rows[plan.winner].keep == 1 && plan.break_even == 0);
}

/* Asked by text, it answers what it answers by struct. */
static void asked_by_text(void **state)
{
    (void)state;
    const double keeps[] = {0.1, 0.01};
    const tithe_plan_request q = {.params = 1e6,
                                  .workers = 4,
                                  .link = {.latency = 1e-3, .bandwidth = 1.25e6},
                                  .keeps = keeps,
                                  .keep_count = 2,
                                  .codecs = named,
                                  .codec_count = 1};
    tithe_plan_row rows[80];
    tithe_plan plan;
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    char options[300], *text = NULL, winner[300];
    tithe_error error = {0};
    snprintf(options, sizeof options,
             "params=1e6;workers=4;link=alphabeta:latency=1ms,bandwidth=10Mbit;keep=0.1,0.01;codecs=%s",
             named[0].spec);
    expect(!tithe_plan_ask(options, &text, &error), "%s", error.text);
    snprintf(winner, sizeof winner, "\"options\": \"%s\"", rows[plan.winner].options);
    const char *found = strstr(text, "\"winner\": {");
    expect(found && strstr(found, winner) && strstr(text, "\"pays\": true"), "%s is not in %s", winner, text);
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, "\"scheme\"")) != NULL; at++) count++;
    assert_int_equal(count, tithe_plan_rows(&q) + 3);
    tithe_text_free(text);
    static const char *const wrong[] = {"",
                                        "params=1e6",
                                        "workers=4",
                                        "params=0;workers=4",
                                        "params=1e6;workers=4;keep=0.1,x",
                                        "params=1e6;workers=4;link=bits",
                                        "params=1e6;workers=4;codecs=topq",
                                        "params=1e6;workers=4;keep=0",
                                        "params=1e6;workers=4;color=red"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        text = NULL;
        expect(tithe_plan_ask(wrong[i], &text, &error) != TITHE_OK && !text, "%s is taken", wrong[i]);
    }
    assert_int_equal(tithe_plan_ask(NULL, &text, NULL), TITHE_E_ARGUMENT);
}

static void speeds_are_measured(void **state)
{
    (void)state;
    tithe_speed speed;
    assert_int_equal(tithe_speed_measure(&speed, NULL), TITHE_OK);
    assert_true(speed.encode_value > 0 && speed.encode_value < 1e-5);
    assert_true(speed.encode_entry >= 0 && speed.encode_entry < 1e-4);
    assert_true(speed.decode_entry > 0 && speed.decode_entry < 1e-4);
    for (size_t c = 0; c < NAMED; c++) {
        tithe_plan_codec one = named[c];
        assert_int_equal(tithe_speed_measure_codec(&one, NULL), TITHE_OK);
        assert_true(one.encode_value > 0 && one.decode_value > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(below_break_even_it_pays),
        cmocka_unit_test(frames_are_real),
        cmocka_unit_test(rows_of_codecs_are_steps),
        cmocka_unit_test(both_ends_are_steps),
        cmocka_unit_test(a_switch_has_its_row),
        cmocka_unit_test(codecs_are_charged),
        cmocka_unit_test(codecs_that_do_not_tell_are_refused),
        cmocka_unit_test(rows_are_steps),
        cmocka_unit_test(long_frames_are_charged),
        cmocka_unit_test(rows_name_their_options),
        cmocka_unit_test(a_cost_is_a_link),
        cmocka_unit_test(nobody_to_talk_to),
        cmocka_unit_test(asked_by_text),
        cmocka_unit_test(speeds_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
