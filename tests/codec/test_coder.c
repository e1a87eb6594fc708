/* test_coder.c - a coder does what the calls of codec.h do, bit for bit, and says what they would say. */
#include "support.h"
#include "tithe/coder.h"

enum { N = 3000 };

static tithe_coder *open_coder(const char *options)
{
    tithe_coder *coder = NULL;
    tithe_error error = {0};
    expect(tithe_coder_open(options, &coder, &error) == TITHE_OK, "%s: %s", options, error.text);
    return coder;
}

/* Frames as tithe_encode writes them; decoding takes any frame of the codec, and one that names its codec needs no other word. */
static void frames_are_those_of_the_codec(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *options;
        bool f64;
    } cases[] = {{"topk:keep=0.01|natural", "codec=topk:keep=0.01|natural;seed=9;rank=2", false},
                 {"randk:k=40|raw", "codec=randk:k=40|raw;seed=9;rank=2;threads=2", false},
                 {"all|dither:s=3", "codec=all|dither:s=3;seed=9;rank=2", false},
                 {"topk:k=20|raw", "codec=topk:k=20|raw;type=f64;seed=9;rank=2", true}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const tithe_type type = cases[c].f64 ? TITHE_F64 : TITHE_F32;
        double x[N], y[N] = {0}, z[N] = {0}; /* room for either type */
        fill_kind(type, GAUSSIAN, x, N, 3);
        tithe_codec *codec = codec_with(cases[c].spec, (tithe_codec_options){.type = type});
        tithe_coder *coder = open_coder(cases[c].options), *named = NULL;
        assert_string_equal(tithe_codec_spec(tithe_coder_codec(coder)), tithe_codec_spec(codec));
        const size_t bound = tithe_codec_bound(codec, N), scratch = tithe_codec_scratch(codec, N);
        uint8_t *frame = malloc(bound), *again = malloc(bound);
        tithe_call call = {
            .seed = 9, .step = 5, .rank = 2, .scratch = malloc(scratch), .scratch_size = scratch};
        tithe_frame_info info;
        size_t length = 0, n = 0;
        tithe_error error = {0};
        assert_int_equal(cases[c].f64
                             ? tithe_encode_f64(codec, &call, x, N, frame, bound, &info, &error)
                             : tithe_encode(codec, &call, (float *)(void *)x, N, frame, bound, &info, &error),
                         TITHE_OK);
        assert_int_equal(tithe_coder_encode(coder, 5, x, N, again, bound, &length, &error), TITHE_OK);
        assert_int_equal(length, info.bytes);
        assert_memory_equal(frame, again, length);
        if (cases[c].f64)
            tithe_decode_add_f64(codec, &call, frame, length, -2, y, N, &error);
        else
            tithe_decode_add(codec, &call, frame, length, -2, (float *)(void *)y, N, &error);
        assert_int_equal(tithe_coder_decode_add(coder, frame, length, -2, z, N, &error), TITHE_OK);
        assert_memory_equal(y, z, sizeof y);
        assert_int_equal(tithe_coder_of_frame(frame, length, "seed=9;rank=2", &named, &n, &error), TITHE_OK);
        assert_int_equal(n, N);
        memset(z, 0, sizeof z);
        expect(tithe_coder_decode_add(named, frame, length, -2, z, N, &error) == TITHE_OK, "%s", error.text);
        assert_memory_equal(y, z, sizeof y);
        tithe_coder_free(named);
        tithe_coder_free(coder);
        tithe_codec_free(codec);
        free(call.scratch);
        free(frame);
        free(again);
    }
}

static void claims_are_those_of_the_codec(void **state)
{
    (void)state;
    tithe_coder *coder = open_coder("codec=topk:keep=0.25|natural");
    const tithe_claims claims = claims_of(tithe_coder_codec(coder), 100);
    char wanted[80], *text = tithe_coder_claims(coder, 100);
    snprintf(wanted, sizeof wanted, "\"omega\": %.15g, \"delta\": %.15g", claims.omega, claims.delta);
    expect(strstr(text, wanted) != NULL, "%s is not in %s", wanted, text);
    expect(strstr(text, "\"unbiased\": false, \"contractive\": true") != NULL, "%s", text);
    tithe_text_free(text);
    tithe_coder_free(coder);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    tithe_coder *coder = NULL;
    tithe_error *error = tithe_error_create();
    size_t n = 0;
    assert_int_equal(tithe_coder_open("codec=topq", &coder, error), TITHE_E_SPEC);
    assert_non_null(strstr(tithe_error_sentence(error), "topq"));
    assert_int_equal(tithe_error_code(error), TITHE_E_SPEC);
    assert_int_equal(tithe_coder_open("codec=topk", &coder, error), TITHE_E_SPEC);
    assert_int_equal(tithe_coder_open("codex=topk", &coder, error), TITHE_E_SPEC);
    assert_int_equal(tithe_coder_open("codec=sign;type=f64", &coder, error), TITHE_E_SPEC);
    assert_int_equal(tithe_coder_open("codec=raw;threads=0", &coder, NULL), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_coder_open(NULL, NULL, error), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_coder_of_frame((const uint8_t *)"no frame", 8, "", &coder, &n, error),
                     TITHE_E_CORRUPT);
    assert_null(coder);
    assert_int_equal(tithe_coder_open(NULL, &coder, error), TITHE_OK); /* all|raw */
    float x[4] = {1, 2, NAN, 4};
    uint8_t frame[64];
    size_t length = 0;
    assert_int_equal(tithe_coder_encode(coder, 0, x, 4, frame, sizeof frame, &length, error),
                     TITHE_E_NONFINITE);
    assert_int_equal(tithe_error_position(error), 2);
    assert_int_equal(length, 0);
    tithe_error_set(error, TITHE_E_PEER, "Said by hand.");
    assert_int_equal(tithe_error_code(error), TITHE_E_PEER);
    assert_string_equal(tithe_error_sentence(error), "Said by hand.");
    tithe_coder_free(coder);
    tithe_coder_free(NULL);
    tithe_text_free(NULL);
    tithe_error_free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_those_of_the_codec),
        cmocka_unit_test(claims_are_those_of_the_codec),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
