/* identities.c - which identities are tried, on which codecs. */
#include "check/identities.h"

#include <stdio.h>

typedef tithe_status (*identity)(const tithe_codec *codec, uint64_t seed, check_output *out);

static tithe_status with_codec(const char *spec, uint64_t seed, check_output *out, identity test)
{
    tithe_codec *codec;
    tithe_status status = tithe_codec_create(spec, NULL, &codec, NULL);
    if (status != TITHE_OK) return status;
    out->spec = tithe_codec_spec(codec);
    status = test(codec, seed, out);
    tithe_codec_free(codec);
    return status;
}

static tithe_status nine_eighths(const tithe_codec *codec, uint64_t seed, check_output *out)
{
    return ti_check_second_moment_at(codec, seed, 9.0 / 8.0, out);
}

static tithe_status eight_bits(const tithe_codec *codec, uint64_t seed, check_output *out)
{
    tithe_codec *nine;
    tithe_status status = tithe_codec_create("all|natural", NULL, &nine, NULL);
    if (status != TITHE_OK) return status;
    status = ti_check_same_rounding(codec, nine, seed, out);
    tithe_codec_free(nine);
    return status;
}

static tithe_status averaging(const tithe_codec *codec, uint64_t seed, check_output *out)
{
    tithe_status status = TITHE_OK;
    for (int part = CHECK_RANK; part <= CHECK_SEED && status == TITHE_OK && !out->stopped; part++)
        status = ti_check_averaging(codec, (check_part)part, seed, out);
    return status;
}

static tithe_status inclusion(size_t n, size_t k, uint32_t trials, uint64_t seed, check_output *out)
{
    char spec[64];
    tithe_codec *codec;
    snprintf(spec, sizeof spec, "randk:k=%zu|raw", k);
    tithe_status status = tithe_codec_create(spec, NULL, &codec, NULL);
    if (status != TITHE_OK) return status;
    out->spec = tithe_codec_spec(codec);
    status = ti_check_inclusion(codec, n, k, trials, seed, out);
    tithe_codec_free(codec);
    return status;
}

static tithe_status sixty(const tithe_codec *codec, uint64_t seed, check_output *out)
{
    return ti_check_expected_count(codec, 60, seed, out);
}

static tithe_status dithering(unsigned s, check_norm norm, uint64_t seed, check_output *out)
{
    static const char *const names[] = {"1", "2", "inf"};
    char spec[96];
    tithe_codec *codecs[3] = {NULL, NULL, NULL};
    snprintf(spec, sizeof spec, "all|natdither:s=%u,p=%s,bucket=%d", s, names[norm], CHECK_BUCKET);
    tithe_status status = tithe_codec_create(spec, NULL, &codecs[0], NULL);
    snprintf(spec, sizeof spec, "all|dither:s=%u,p=%s,bucket=%d", 1u << (s - 1), names[norm], CHECK_BUCKET);
    if (status == TITHE_OK) status = tithe_codec_create(spec, NULL, &codecs[1], NULL);
    if (status == TITHE_OK) status = tithe_codec_create("all|natural", NULL, &codecs[2], NULL);
    if (status == TITHE_OK) {
        out->spec = tithe_codec_spec(codecs[0]);
        status = ti_check_natural_dithering(codecs[0], codecs[1], codecs[2], s, norm, seed, out);
    }
    for (int i = 0; i < 3; i++) tithe_codec_free(codecs[i]);
    return status;
}

tithe_status tithe_check_identities(uint64_t seed, tithe_check_report report, void *context)
{
    static const struct {
        const char *spec;
        identity test;
    } tests[] = {
        {"all|natural", nine_eighths},      {"all|natural:bits=8", eight_bits},
        {"all|natural", averaging},         {"all|dither:s=7,bucket=64", averaging},
        {"randk:keep=0.25|raw", averaging}, {"stochastic:keep=0.25|raw", averaging},
        {"stochastic:k=60|raw", sixty},
    };
    static const unsigned levels[] = {2, 3, 5, 7};
    /* More than half is drawn as its complement, and 5000 positions span two blocks of random numbers. */
    static const struct {
        size_t n, k;
        uint32_t trials;
    } draws[] = {{64, 16, 4000}, {1000, 700, 600}, {5000, 600, 400}};

    if (!report) return TITHE_E_ARGUMENT;
    check_output out = {.report = report, .context = context};
    tithe_status status = TITHE_OK;
    for (size_t i = 0; i < sizeof tests / sizeof *tests && status == TITHE_OK && !out.stopped; i++)
        status = with_codec(tests[i].spec, seed, &out, tests[i].test);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        for (int norm = CHECK_NORM_1; norm <= CHECK_NORM_MAX && status == TITHE_OK && !out.stopped; norm++)
            status = dithering(levels[i], (check_norm)norm, seed, &out);
    for (size_t i = 0; i < sizeof draws / sizeof *draws && status == TITHE_OK && !out.stopped; i++)
        status = inclusion(draws[i].n, draws[i].k, draws[i].trials, seed, &out);
    return status;
}
