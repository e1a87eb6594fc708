/* fuzz_spec.c - any text as a spec. What is taken has one canonical spelling, which makes the same codec; what is
 * refused has a sentence and a position inside the text.
 *
 * input: options | text */
#include "fuzz.h"

/* Everything that can be asked of a codec before it sees numbers. */
static void ask(const tithe_codec *codec)
{
    /* With 32 bits memory ends long before a vector has to. */
    static const size_t longest = SIZE_MAX / 256 < TITHE_MAX_N ? SIZE_MAX / 256 : TITHE_MAX_N;
    const size_t sizes[] = {0, 1, 2, 33, 4097, 1000000, longest};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i];
        const tithe_claims c = claims_of(codec, n);
        insist(c.omega >= 0 && c.delta <= 1 && c.Delta >= 0, "claims of n=%zu make no sense", n);
        /* The range may be empty: random entries of a long vector are scaled up beyond what a half can hold. */
        insist(c.smallest >= 0 && c.largest > 0, "the range for n=%zu makes no sense", n);
        const size_t bound = tithe_codec_bound(codec, n);
        insist(bound >= tithe_codec_length(codec, n, 0, TITHE_EXCHANGE),
               "bound of n=%zu is below an empty frame", n);
        insist(tithe_codec_scratch(codec, n) <= 64 * (n + 64), "a scratch out of proportion");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    char *text = fuzz_alloc(size);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    const tithe_codec_options options = {data[0] & 1 ? TITHE_F64 : TITHE_F32, data[0] >> 1 & 1,
                                         data[0] >> 2 & 1};
    tithe_error error = {0};
    tithe_codec *codec = NULL, *again = NULL;
    const tithe_status status = tithe_codec_create(text, &options, &codec, &error);
    if (status) {
        insist(status == TITHE_E_SPEC && error.code == status && !codec, "%s: status %d", text, status);
        insist(error.text[0] && error.position <= strlen(text), "%s: position %zu", text, error.position);
    } else {
        ask(codec);
        const char *spec = tithe_codec_spec(codec);
        /* The canonical spelling states type and scale, so no option is needed but an open level. */
        const tithe_codec_options plain = {TITHE_F32, false, options.open_level};
        insist(tithe_codec_create(spec, &plain, &again, &error) == 0, "%s: %s", spec, error.text);
        insist(strcmp(spec, tithe_codec_spec(again)) == 0, "%s became %s", spec, tithe_codec_spec(again));
        insist(tithe_codec_type(codec) == tithe_codec_type(again), "%s changes its type", spec);
    }
    tithe_codec_free(codec);
    tithe_codec_free(again);
    free(text);
    return 0;
}
