/* test_identities.c - the identities hold, and fail for codecs that break them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* after those above, which it needs */

#include "check/identities.h"
#include "check/liars.h"
#include "check/rows.h"

static void identities_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        rows r = {.print = true};
        assert_int_equal(tithe_check_identities(seed, keep_row, &r), TITHE_OK);
        assert_int_equal(r.failed, 0);
        assert_true(r.count >= 35);
    }
    assert_int_equal(tithe_check_identities(1, NULL, NULL), TITHE_E_ARGUMENT);
}

static tithe_codec *codec_of(const char *spec)
{
    tithe_codec *codec;
    tithe_error error = {0};
    if (tithe_codec_create(spec, NULL, &codec, &error) != TITHE_OK) fail_msg("%s: %s", spec, error.text);
    return codec;
}

static tithe_codec *made_of(const tithe_selector *s, double k, const tithe_quantizer *q,
                            const double *quantizer_params)
{
    double params[TITHE_MAX_PARAMS];
    tithe_codec *codec;
    tithe_error error = {0};
    for (int i = 0; i < TITHE_MAX_PARAMS; i++) params[i] = NAN;
    params[0] = k;
    if (tithe_codec_make(s, params, q, quantizer_params, NULL, &codec, &error) != TITHE_OK)
        fail_msg("%s", error.text);
    return codec;
}

static void a_wrong_natural_dithering_is_caught(void **state)
{
    (void)state;
    tithe_quantizer q = *quantizer_named("natdither");
    double params[TITHE_MAX_PARAMS];
    for (int i = 0; i < TITHE_MAX_PARAMS; i++) params[i] = NAN;
    for (int i = 0; q.params[i].name; i++) {
        if (strcmp(q.params[i].name, "s") == 0) params[i] = 5;
        if (strcmp(q.params[i].name, "bucket") == 0) params[i] = CHECK_BUCKET;
    }
    q.name = "liar";
    q.id = TITHE_FIRST_PRIVATE_ID;
    tithe_codec *honest = made_of(selector_named("all"), NAN, &q, params);
    q.encode = encode_uneven;
    tithe_codec *liar = made_of(selector_named("all"), NAN, &q, params);
    tithe_codec *dither = codec_of("all|dither:s=16,bucket=16"), *natural = codec_of("all|natural");
    tithe_codec *coarser = codec_of("all|dither:s=15,bucket=16");
    rows r = {.print = false};
    check_output out = {.report = keep_row, .context = &r, .spec = "liar"};
    assert_int_equal(ti_check_natural_dithering(liar, dither, natural, 5, CHECK_NORM_2, 1, &out), TITHE_OK);
    assert_false(r.list[0].holds);
    assert_int_equal(ti_check_natural_dithering(honest, coarser, natural, 5, CHECK_NORM_2, 1, &out),
                     TITHE_OK);
    assert_false(r.list[1].holds);
    tithe_codec_free(coarser);
    tithe_codec_free(natural);
    tithe_codec_free(dither);
    tithe_codec_free(liar);
    tithe_codec_free(honest);
}

static void a_wrong_rounding_is_caught(void **state)
{
    (void)state;
    tithe_quantizer q = *quantizer_named("natural");
    q.name = "liar";
    q.id = TITHE_FIRST_PRIVATE_ID;
    q.encode = encode_long;
    tithe_codec *liar = made_of(selector_named("all"), NAN, &q, NULL), *natural = codec_of("all|natural");
    rows r = {.print = false};
    check_output out = {.report = keep_row, .context = &r, .spec = "liar"};
    assert_int_equal(ti_check_same_rounding(liar, natural, 1, &out), TITHE_OK);
    assert_false(r.list[0].holds);
    assert_int_equal(ti_check_second_moment_at(liar, 1, 9.0 / 8, &out), TITHE_OK);
    assert_false(r.list[1].holds);
    tithe_codec_free(natural);
    tithe_codec_free(liar);
}

static void ranks_in_step_are_caught(void **state)
{
    (void)state;
    tithe_quantizer q = *quantizer_named("natural");
    q.name = "liar";
    q.id = TITHE_FIRST_PRIVATE_ID;
    q.encode = encode_in_step;
    tithe_codec *liar = made_of(selector_named("all"), NAN, &q, NULL);
    rows r = {.print = false};
    check_output out = {.report = keep_row, .context = &r, .spec = "liar"};
    for (int part = CHECK_RANK; part <= CHECK_SEED; part++) {
        assert_int_equal(ti_check_averaging(liar, (check_part)part, 1, &out), TITHE_OK);
        assert_false(r.list[part].holds);
    }
    tithe_codec_free(liar);
}

static void unfair_positions_are_caught(void **state)
{
    (void)state;
    tithe_selector s = *selector_named("randk");
    s.name = "liar";
    s.id = TITHE_FIRST_PRIVATE_ID;
    s.select = select_but_last;
    s.draw = draw_but_last;
    tithe_codec *liar = made_of(&s, 16, quantizer_named("raw"), NULL);
    rows r = {.print = false};
    check_output out = {.report = keep_row, .context = &r, .spec = "liar"};
    assert_int_equal(ti_check_inclusion(liar, 64, 16, 4000, 1, &out), TITHE_OK);
    assert_true(row_fails(&r, "each position with probability k/n"));
    tithe_codec_free(liar);

    s.select = select_neighbours;
    s.draw = draw_neighbours;
    liar = made_of(&s, 16, quantizer_named("raw"), NULL);
    r = (rows){.print = false};
    assert_int_equal(ti_check_inclusion(liar, 64, 16, 4000, 1, &out), TITHE_OK);
    assert_true(row_fails(&r, "each pair with probability k(k-1)/n(n-1)"));
    tithe_codec_free(liar);
}

static void a_spendthrift_is_caught(void **state)
{
    (void)state;
    tithe_selector s = *selector_named("stochastic");
    s.name = "liar";
    s.id = TITHE_FIRST_PRIVATE_ID;
    s.select = select_more;
    tithe_codec *liar = made_of(&s, 60, quantizer_named("raw"), NULL);
    rows r = {.print = false};
    check_output out = {.report = keep_row, .context = &r, .spec = "liar"};
    assert_int_equal(ti_check_expected_count(liar, 60, 1, &out), TITHE_OK);
    assert_false(r.list[0].holds);
    tithe_codec_free(liar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(identities_hold),
                                       cmocka_unit_test(a_wrong_natural_dithering_is_caught),
                                       cmocka_unit_test(a_wrong_rounding_is_caught),
                                       cmocka_unit_test(ranks_in_step_are_caught),
                                       cmocka_unit_test(unfair_positions_are_caught),
                                       cmocka_unit_test(a_spendthrift_is_caught)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
