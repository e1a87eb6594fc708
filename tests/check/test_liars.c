/* test_liars.c - each variant that breaks a promise is caught, on the claim about which it lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* after those above, which it needs */

#include "check/liars.h"
#include "check/rows.h"
#include "tithe/tithe.h"

static void expect_caught(const tithe_selector *selector, const double *selector_params,
                          const tithe_quantizer *quantizer, const double *quantizer_params, const char *claim)
{
    tithe_codec *codec;
    tithe_error error = {0};
    if (tithe_codec_make(selector, selector_params, quantizer, quantizer_params, NULL, &codec, &error) !=
        TITHE_OK)
        fail_msg("%s: %s", claim, error.text);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        rows r = {.print = false};
        assert_int_equal(tithe_check_codec(codec, seed, keep_row, &r), TITHE_OK);
        if (!row_fails(&r, claim)) fail_msg("\"%s\" was not called false", claim);
    }
    tithe_codec_free(codec);
}

static tithe_quantizer copy_of_natural(void)
{
    tithe_quantizer q = *quantizer_named("natural");
    q.name = "liar";
    q.id = TITHE_FIRST_PRIVATE_ID;
    return q;
}

static void a_small_omega_is_caught(void **state)
{
    (void)state;
    tithe_quantizer q = copy_of_natural();
    q.claims = claims_small_omega;
    expect_caught(selector_named("all"), NULL, &q, NULL, "second moment");
}

static void bias_is_caught(void **state)
{
    (void)state;
    tithe_quantizer q = copy_of_natural();
    q.encode = encode_down;
    expect_caught(selector_named("all"), NULL, &q, NULL, "unbiased");
    q.encode = encode_long; /* by 2 % only */
    expect_caught(selector_named("all"), NULL, &q, NULL, "unbiased");
}

static void a_large_delta_is_caught(void **state)
{
    (void)state;
    tithe_selector s = *selector_named("topk");
    double params[TITHE_MAX_PARAMS];
    for (int i = 0; i < TITHE_MAX_PARAMS; i++) params[i] = NAN;
    params[0] = 20;
    s.name = "liar";
    s.id = TITHE_FIRST_PRIVATE_ID;
    s.claims = claims_large_delta;
    expect_caught(&s, params, quantizer_named("raw"), NULL, "contraction");
}

static void a_varying_size_is_caught(void **state)
{
    (void)state;
    tithe_quantizer q = *quantizer_named("dither");
    double params[TITHE_MAX_PARAMS];
    for (int i = 0; i < TITHE_MAX_PARAMS; i++) params[i] = NAN;
    for (int i = 0; q.params[i].name; i++)
        if (strcmp(q.params[i].name, "code") == 0) params[i] = 1; /* elias */
    q.name = "liar";
    q.id = TITHE_FIRST_PRIVATE_ID;
    q.fixed_size = NULL;
    expect_caught(selector_named("all"), NULL, &q, params, "fixed size");
}

static void chance_is_caught(void **state)
{
    (void)state;
    tithe_quantizer q = copy_of_natural();
    q.encode = encode_by_chance;
    expect_caught(selector_named("all"), NULL, &q, NULL, "same seed, same bytes");
}

static void a_lost_remainder_is_caught(void **state)
{
    (void)state;
    tithe_quantizer q = copy_of_natural();
    q.encode = encode_embezzling;
    expect_caught(selector_named("all"), NULL, &q, NULL, "error feedback");
}

static void a_nan_is_caught(void **state)
{
    (void)state;
    tithe_quantizer q = copy_of_natural();
    q.decode = decode_nan;
    expect_caught(selector_named("all"), NULL, &q, NULL, "second moment");
    expect_caught(selector_named("all"), NULL, &q, NULL, "unbiased");
}

static void a_refusal_is_caught(void **state)
{
    (void)state;
    tithe_quantizer q = copy_of_natural();
    q.encode = encode_nothing;
    expect_caught(selector_named("all"), NULL, &q, NULL, "round trip");
}

static void a_codec_without_a_level_is_told(void **state)
{
    (void)state;
    const tithe_codec_options options = {.open_level = true};
    tithe_codec *codec;
    assert_int_equal(tithe_codec_create("topk|raw", &options, &codec, NULL), TITHE_OK);
    rows r = {.print = false};
    assert_int_equal(tithe_check_codec(codec, 1, keep_row, &r), TITHE_OK);
    assert_true(row_fails(&r, "round trip"));
    tithe_codec_free(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_small_omega_is_caught),
                                       cmocka_unit_test(bias_is_caught),
                                       cmocka_unit_test(a_large_delta_is_caught),
                                       cmocka_unit_test(a_varying_size_is_caught),
                                       cmocka_unit_test(chance_is_caught),
                                       cmocka_unit_test(a_lost_remainder_is_caught),
                                       cmocka_unit_test(a_nan_is_caught),
                                       cmocka_unit_test(a_refusal_is_caught),
                                       cmocka_unit_test(a_codec_without_a_level_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
