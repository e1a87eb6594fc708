/* test_spec.c - the notation selector:key=value|quantizer:key=value: what is taken, in which canonical spelling it comes
 * back, and what the answer to a mistake says and points at. */
#include "base/spec.h"

#include "support.h"

static void specs_have_one_canonical_spelling(void **state)
{
    (void)state;
    static const struct {
        const char *text, *canonical;
    } good[] = {
        {"raw", "all|raw"},
        {"all", "all|raw"},
        {"all|raw:type=f32", "all|raw"},
        {"raw:type=f64", "all|raw:type=f64"},
        {"natural:bits=auto", "all|natural"},
        {"natural:bits=8", "all|natural:bits=8"},
        {"natural:bits=12,type=f64", "all|natural:bits=12,type=f64"},
        {"topk:keep=0.10", "topk:keep=0.1|raw"},
        {"topk:keep=1e-2|sign:scale=mean", "topk:keep=0.01|sign"},
        {"topk:k=1e2|sign:scale=norm", "topk:k=100|sign:scale=norm"},
        {"topk:k=4294967295", "topk:k=4294967295|raw"},
        {"topk:rule=l2,per=layer", "topk:rule=l2,per=layer|raw"},
        {"topk:per=layer,keep=.5,rule=k", "topk:keep=0.5,per=layer|raw"},
        {"threshold:lambda=0|f16", "threshold:lambda=0|f16"},
        {"mstopk:k=5,rounds=25", "mstopk:k=5|raw"},
        {"randk:k=5|natural:scale=contractive", "randk:k=5,scale=contractive|natural:scale=contractive"},
        {"randk:k=5,scale=contractive|natural", "randk:k=5,scale=contractive|natural:scale=contractive"},
        {"stochastic:k=2.5", "stochastic:k=2.5|raw"},
        {"given|bf16", "given|bf16"},
        {"dither:s=7,p=2,bucket=0,norm=raw,code=fixed,scale=unbiased", "all|dither"},
        {"dither:code=elias,norm=natural,bucket=512,s=3,p=inf",
         "all|dither:p=inf,s=3,bucket=512,norm=natural,code=elias"},
        {"natdither:p=1,s=64", "all|natdither:p=1,s=64"},
        {"  topk :  keep = 0.1 , rule = k |\tnatural : bits = 9 ", "topk:keep=0.1|natural:bits=9"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        tithe_codec *codec = codec_of(good[i].text), *again = codec_of(good[i].canonical);
        assert_string_equal(tithe_codec_spec(codec), good[i].canonical);
        assert_string_equal(tithe_codec_spec(again), good[i].canonical);
        assert_int_equal(tithe_codec_type(codec), tithe_codec_type(again));
        tithe_codec_free(codec);
        tithe_codec_free(again);
    }
}

static void numbers_come_back_to_the_last_bit(void **state)
{
    (void)state;
    dice d = {8};
    for (int trial = 0; trial < 3000; trial++) {
        const double keep = pow(10, -9 * roll_unit(&d));
        char text[200];
        snprintf(text, sizeof text,
                 "stochastic:keep=%.17g,scale=contractive|dither:p=inf,s=16383,bucket=16383,"
                 "norm=natural,code=elias,scale=contractive",
                 keep);
        tithe_codec *codec = codec_of(text), *again = codec_of(tithe_codec_spec(codec));
        const char *spec = tithe_codec_spec(codec);
        assert_string_equal(spec, tithe_codec_spec(again));
        expect(strtod(strstr(spec, "keep=") + 5, NULL) == keep, "%s lost bits of %.17g", spec, keep);
        assert_non_null(strstr(spec, "code=elias,scale=contractive")); /* nothing was cut off at the end */
        tithe_codec_free(codec);
        tithe_codec_free(again);
    }
}

/* ---- mistakes -------------------------------------------------------------------------------------------- */

typedef struct mistake {
    const char *text;
    size_t position;
    const char *says; /* part of the sentence: what would have been right */
} mistake;

static const mistake mistakes[] = {
    {"", 0, "all, topk, threshold"},
    {"nope", 0, "natdither"},
    {"TOPK:k=1", 0, "topk"},
    {"nope|raw", 0, "stochastic, given"},
    {"|raw", 0, "selector"},
    {"raw|raw", 0, "selector"},
    {"topk:k=1|", 9, "natural"},
    {"topk:k=1|nope", 9, "quantizer \"nope\""},
    {"topk:k=1|  nope:s=1", 11, "natural"},
    {"topk:k=1|topk", 9, "quantizer"},
    {"topk:k=1|raw|raw", 12, "selector|quantizer"},
    {"topk", 0, "keep=0.01"},
    {"threshold|sign", 0, "lambda=0.01"},
    {"mstopk", 0, "k=100"},
    {"topk:kk=1", 5, "k, keep, rule, per"},
    {"topk: =1", 6, "k, keep, rule, per"},
    {"given:k=1", 6, "none"},
    {"topk:k", 6, "k=value"},
    {"topk:k=", 7, "number from 1"},
    {"topk:k=7,", 9, "it takes k, keep"},
    {"topk:k=0x10", 7, "\"0x10\""},
    {"topk:k=inf", 7, "\"inf\""},
    {"topk:k=five", 7, "\"five\""},
    {"topk:k=5x", 7, "\"5x\""},
    {"topk:k=5 6", 7, "\"5 6\""},
    {"topk:k=0", 7, "from 1 to 4294967295"},
    {"topk:k=-3", 7, "from 1"},
    {"topk:k=1.5", 7, "whole number"},
    {"topk:k=4294967296", 7, "to 4294967295"},
    {"topk:keep=0", 10, "to 1"},
    {"topk:keep=1.01", 10, "to 1"},
    {"topk:keep=nan", 10, "must be"},
    {"topk:keep=inf", 10, "must be"},
    {"topk:k=1,k=2", 9, "twice"},
    {"topk:k=7,", 9, "k, keep, rule, per"},
    {"topk:,k=7", 5, "k, keep, rule, per"},
    {"topk:k=0x10", 7, "number from 1"}, /* decimal, and nothing else that strtod takes */
    {"topk:k=1,keep=0.5", 0, "state one"},
    {"topk:rule=l2,k=5", 0, "leave k and keep out"},
    {"topk:rule=l3", 10, "k|l2"},
    {"topk:k=1111111111111111111111111111111111111111111111111111111111111111111", 7, "too long"},
    {"threshold:lambda=-0.1", 17, "from 0"},
    {"stochastic:k=0", 13, "from 1e-09"},
    {"natural:bits=7", 13, "auto|8|9|12"},
    {"natural:bits=12", 0, "doubles"},
    {"natural:bits=8,type=f64", 0, "12 bits"},
    {"dither:s=0", 9, "from 1 to 16383"},
    {"dither:s=16384", 9, "from 1 to 16383"},
    {"natdither:s=65", 12, "from 1 to 64"},
    {"dither:bucket=16384", 14, "from 0 to 16383"},
    {"dither:p=3", 9, "1|2|inf"},
    {"raw:scale=contractive", 4, "type"},
    {"sign:type=f64", 5, "scale"},
    {"stochastic:k=3|sign", 0, "topk|sign"},
    {"randk:k=3|sign", 0, "scale=contractive"},
    {"randk:k=3,scale=unbiased|natural:scale=contractive", 0, "cannot differ"},
};

static void mistakes_are_answered_with_what_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const mistake *m = &mistakes[i];
        tithe_error error = {0};
        tithe_codec *codec = (tithe_codec *)&error; /* has to stay as it is */
        const tithe_status status = tithe_codec_create(m->text, NULL, &codec, &error);
        expect(status == TITHE_E_SPEC, "\"%s\" is taken", m->text);
        assert_ptr_equal(codec, &error);
        assert_int_equal(error.code, TITHE_E_SPEC);
        expect(error.position == m->position, "\"%s\" at %zu, not %zu: %s", m->text, error.position,
               m->position, error.text);
        expect(strstr(error.text, m->says) != NULL, "\"%s\" should say %s, not: %s", m->text, m->says,
               error.text);
        const char last = error.text[strlen(error.text) - 1];
        expect(last == '.', "no sentence: %s", error.text);
        assert_int_equal(tithe_codec_create(m->text, NULL, &codec, NULL),
                         TITHE_E_SPEC); /* no place for an error */
    }
}

static void the_type_of_the_vector_is_settled_once(void **state)
{
    (void)state;
    const tithe_codec_options doubles = {TITHE_F64, false, false};
    static const char *const refused[] = {"f16",       "bf16",         "sign",         "dither",
                                          "natdither", "raw:type=f32", "topk:k=1|f16", "natural:bits=9"};
    tithe_codec *codec = NULL;
    tithe_error error;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        expect(tithe_codec_create(refused[i], &doubles, &codec, &error) == TITHE_E_SPEC, "%s takes doubles",
               refused[i]);
        assert_non_null(strstr(error.text, "double"));
    }
    codec = codec_with("topk:k=1|natural", doubles);
    assert_int_equal(tithe_codec_type(codec), TITHE_F64);
    assert_string_equal(tithe_codec_spec(codec), "topk:k=1|natural:type=f64");
    tithe_codec_free(codec);
    codec = codec_of("raw:type=f64"); /* the spec alone may ask for doubles */
    assert_int_equal(tithe_codec_type(codec), TITHE_F64);
    tithe_codec_free(codec);
}

static void options_fill_what_the_spec_leaves_open(void **state)
{
    (void)state;
    tithe_codec *codec = codec_with("randk:k=3|dither", (tithe_codec_options){TITHE_F32, true, false});
    assert_string_equal(tithe_codec_spec(codec), "randk:k=3,scale=contractive|dither:scale=contractive");
    tithe_codec_free(codec);
    codec = codec_with("randk:k=3,scale=unbiased|dither", (tithe_codec_options){TITHE_F32, true, false});
    assert_string_equal(tithe_codec_spec(codec), "randk:k=3|dither"); /* what is stated is kept */
    tithe_codec_free(codec);
    codec = codec_with("topk|natural", (tithe_codec_options){TITHE_F32, false, true});
    assert_string_equal(tithe_codec_spec(codec), "topk|natural");
    tithe_codec_free(codec);
    tithe_codec_free(NULL);
    assert_int_equal(tithe_codec_create(NULL, NULL, &codec, NULL), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_codec_create("raw", NULL, NULL, NULL), TITHE_E_ARGUMENT);
}

static void an_open_level_wants_one_in_every_call(void **state)
{
    (void)state;
    static const char *const specs[] = {"topk", "threshold", "mstopk", "randk", "stochastic"};
    const float x[4] = {1, -2, 3, -4};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tithe_codec *codec = codec_with(specs[i], (tithe_codec_options){TITHE_F32, false, true});
        uint8_t frame[200], scratch[4096];
        tithe_frame_info info;
        tithe_error error;
        assert_true(tithe_codec_bound(codec, 4) <= sizeof frame &&
                    tithe_codec_scratch(codec, 4) <= sizeof scratch);
        tithe_call call = {.scratch = scratch, .scratch_size = sizeof scratch};
        assert_int_equal(tithe_encode(codec, &call, x, 4, frame, sizeof frame, &info, &error),
                         TITHE_E_ARGUMENT);
        assert_non_null(strstr(error.text, "level"));
        call.level = 2.5;
        assert_int_equal(tithe_encode(codec, &call, x, 4, frame, sizeof frame, &info, &error), TITHE_OK);
        if (i != 4) assert_int_equal(info.entries, 2);
        tithe_codec_free(codec);
    }
}

/* ---- inside ---------------------------------------------------------------------------------------------- */

static void writing_never_leaves_its_buffer(void **state)
{
    (void)state;
    static const tithe_param table[] = {{.name = "alpha", .fallback = (double)NAN, .max = 10},
                                        {.name = "mode", .max = 2, .choices = "one|two|three"},
                                        {0}};
    const double values[] = {0.123456789, 2};
    char full[64];
    ti_spec_write(full, sizeof full, "name", table, values);
    assert_string_equal(full, "name:alpha=0.123456789,mode=three");
    for (size_t size = 1; size < sizeof full; size++) {
        char cut[80];
        memset(cut, GUARD_BYTE, sizeof cut);
        ti_spec_write(cut, size, "name", table, values);
        assert_true(bytes_are(cut + size, sizeof cut - size, GUARD_BYTE));
        assert_true(strlen(cut) < size);
        assert_true(strncmp(cut, full, strlen(cut)) == 0);
    }
}

static void statuses_have_sentences(void **state)
{
    (void)state;
    for (int s = TITHE_OK; s <= TITHE_E_SKIPPED; s++)
        for (int other = TITHE_OK; other < s; other++)
            assert_string_not_equal(tithe_status_text((tithe_status)s),
                                    tithe_status_text((tithe_status)other));
    assert_non_null(tithe_status_text((tithe_status)99));
    assert_string_equal(tithe_version(), TITHE_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs_have_one_canonical_spelling),
        cmocka_unit_test(numbers_come_back_to_the_last_bit),
        cmocka_unit_test(mistakes_are_answered_with_what_is_right),
        cmocka_unit_test(the_type_of_the_vector_is_settled_once),
        cmocka_unit_test(options_fill_what_the_spec_leaves_open),
        cmocka_unit_test(an_open_level_wants_one_in_every_call),
        cmocka_unit_test(writing_never_leaves_its_buffer),
        cmocka_unit_test(statuses_have_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
