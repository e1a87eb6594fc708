/* test_contract.c - the same questions to every codec: is what was promised about sizes, buffers, bits and
 * randomness so? test_contract_frames.c asks about frames that are not what was sent, test_claims.c about claims. */
#include "codec/contract.h"

enum { UNTOUCHED = 12345 }; /* in info.bytes: a call that failed has not been there */

static size_t padded(uint64_t bits)
{
    return (size_t)((bits + 7) / 8);
}

static double largest_of(const rig *r)
{
    double max = 0;
    for (size_t i = 0; i < r->n; i++) max = fmax(max, fabs(get_number(r->type, r->x, i)));
    return max;
}

/* After a refusal the buffer holds nothing that anybody could take for a frame, and nothing was written beside it. */
static void expect_no_frame(const rig *r)
{
    tithe_frame_header header;
    expect(tithe_frame_read(r->frame.data, r->bound, &header, NULL) == TITHE_E_CORRUPT,
           "%s n=%zu: %s, but left a frame", RIG_SAYS(r));
    expect(guarded_is_intact(&r->frame), "%s n=%zu: %s, and wrote beside the frame", RIG_SAYS(r));
}

/* Numbers too large for the number format are the only reason to refuse a finite vector. */
static void expect_range_has_a_reason(const rig *r)
{
    const bool whole_norm = strstr(tithe_codec_spec(r->codec), "scale=norm") != NULL;
    expect(largest_of(r) > claims_of(r->codec, r->n).largest || whole_norm ||
               tithe_codec_selector(r->codec)->shares,
           "%s refuses n=%zu although every number is in its range: %s", RIG_SAYS(r));
    expect_no_frame(r);
}

static void expect_sizes(const rig *r)
{
    const tithe_frame_info *i = &r->info;
    expect(i->bytes <= r->bound, "%s n=%zu%s: longer than bound()", RIG_SAYS(r));
    expect(i->bytes <= tithe_codec_length(r->codec, r->n, i->entries, r->call.form),
           "%s n=%zu%s: longer than length()", RIG_SAYS(r));
    expect(i->entries <= r->n, "%s n=%zu%s: more entries than numbers", RIG_SAYS(r));
    const size_t sum = i->header_bytes + padded(i->index_bits) + padded(i->value_bits) + 4;
    const size_t inner = tithe_codec_selector(r->codec)->shares ? 2 : 0; /* the shared group pads inside */
    expect(i->bytes >= sum && i->bytes <= sum + inner, "%s n=%zu%s: the parts do not add up", RIG_SAYS(r));
    if (r->n < 1u << 28)
        expect(i->header_bytes + 4 <= (r->call.form == TITHE_EXCHANGE ? 14 : 24), "%s n=%zu%s: a long header",
               RIG_SAYS(r));
    const bool fixed = claims_of(r->codec, r->n).traits & TITHE_FIXED_SIZE;
    if (fixed && !source_is(r->codec, TITHE_INDICES_GIVEN)) {
        /* length() leaves room for the longest step number and s: the rest is known to the byte. */
        const size_t max = tithe_codec_length(r->codec, r->n, i->entries, r->call.form);
        expect(max - i->bytes <= 8, "%s n=%zu%s: a fixed size that is not", RIG_SAYS(r));
    }
}

static void expect_nothing_spilt(const rig *r)
{
    expect(guarded_is_intact(&r->frame), "%s n=%zu%s: wrote beside the frame", RIG_SAYS(r));
    expect(guarded_is_intact(&r->scratch), "%s n=%zu%s: wrote beside the scratch", RIG_SAYS(r));
    expect(guarded_is_intact(&r->y), "%s n=%zu%s: wrote beside y", RIG_SAYS(r));
    expect(memcmp(r->x, r->x_before, r->n * type_bytes(r->type)) == 0, "%s n=%zu%s: changed x", RIG_SAYS(r));
}

/* Decoding adds: y + scale * value, in the arithmetic of the type, and the rest of y stays. */
static void expect_addition(rig *r, const void *values)
{
    const size_t bytes = r->n * type_bytes(r->type);
    void *wanted = malloc(bytes + 1);
    assert_non_null(wanted);
    dice d = {r->n};
    for (size_t i = 0; i < r->n; i++) {
        const double y = (double)(float)(1 + roll_unit(&d));
        set_number(r->type, r->y.data, i, y);
        if (r->type == TITHE_F32) {
            const float product = -0.5f * ((const float *)values)[i];
            ((float *)wanted)[i] = (float)y + product;
        } else {
            const double product = -0.5 * ((const double *)values)[i];
            ((double *)wanted)[i] = y + product;
        }
    }
    expect(rig_decode(r, -0.5) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(r));
    expect(memcmp(wanted, r->y.data, bytes) == 0, "%s n=%zu%s: not y + scale * value", RIG_SAYS(r));
    free(wanted);
}

/* A stranger knows the bytes, the seed, the rank, the tensor and the given indices. */
static void expect_stranger_agrees(const rig *r, const void *values)
{
    tithe_frame_header h;
    tithe_error error = {0};
    expect(tithe_frame_read(r->frame.data, r->info.bytes, &h, &error) == TITHE_OK, "%s: %s",
           tithe_codec_spec(r->codec), error.text);
    assert_int_equal(h.n, r->n);
    assert_int_equal(h.step, r->call.step);
    assert_int_equal(h.entries, r->info.entries);
    assert_int_equal(h.header_bytes, r->info.header_bytes);
    assert_int_equal(h.header_bytes + h.payload_bytes + 4, r->info.bytes);
    assert_int_equal(h.type, r->type);
    const bool drawn = tithe_codec_selector(r->codec)->source == TITHE_INDICES_DRAWN;
    assert_int_equal(h.version, drawn ? TITHE_WIRE_VERSION_DRAWN : TITHE_WIRE_VERSION);
    tithe_codec *codec = NULL;
    expect(tithe_frame_codec(&h, &codec, &error) == TITHE_OK, "%s: %s", tithe_codec_spec(r->codec),
           error.text);
    guarded scratch = guarded_make(tithe_frame_scratch(&h), 0), y = guarded_make(r->y.size, 0);
    memset(y.data, 0, y.size);
    tithe_call call = r->call;
    call.step = 0; /* the frame knows it */
    call.scratch = scratch.data;
    call.scratch_size = scratch.size;
    const tithe_status status =
        decode_any(codec, &call, r->frame.data, r->info.bytes, 1, y.data, r->n, &error);
    expect(status == TITHE_OK, "%s as %s: %s", tithe_codec_spec(r->codec), tithe_codec_spec(codec),
           error.text);
    expect(memcmp(y.data, values, y.size) == 0, "%s n=%zu%s: a stranger reads other numbers", RIG_SAYS(r));
    expect(guarded_is_intact(&scratch) && guarded_is_intact(&y), "%s n=%zu%s: spilt", RIG_SAYS(r));
    guarded_free(&scratch);
    guarded_free(&y);
    tithe_codec_free(codec);
}

static void expect_round_trip(rig *r, input_kind k)
{
    rig_fill(r, k);
    memset(r->frame.data, GUARD_BYTE, r->bound);
    r->call.form = TITHE_SELF_CONTAINED;
    r->info.bytes = UNTOUCHED;
    const tithe_status status = rig_encode(r);
    if (status == TITHE_E_RANGE && k == HUGE_NUMBERS) {
        expect_range_has_a_reason(r);
        return;
    }
    expect(status == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(r));
    r->error.text[0] = 0;
    expect_sizes(r);
    tithe_frame_info info;
    expect(tithe_frame_check(r->codec, &r->call, r->frame.data, r->info.bytes, r->n, &info, &r->error) ==
               TITHE_OK,
           "%s n=%zu: %s", RIG_SAYS(r));
    expect(memcmp(&info, &r->info, sizeof info) == 0, "%s n=%zu%s: encoder and checker differ", RIG_SAYS(r));

    rig_clear_y(r);
    expect(rig_decode(r, 1) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(r));
    expect(all_finite(r->type, r->y.data, r->n), "%s n=%zu%s: made a number that is not finite", RIG_SAYS(r));
    void *values = malloc(r->y.size + 1);
    assert_non_null(values);
    memcpy(values, r->y.data, r->y.size);
    expect_stranger_agrees(r, values);
    expect_addition(r, values);

    r->call.form = TITHE_EXCHANGE;
    const size_t before = r->info.bytes;
    expect(rig_encode(r) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(r));
    expect_sizes(r);
    expect(r->info.bytes <= before, "%s n=%zu%s: the exchange form is longer", RIG_SAYS(r));
    rig_clear_y(r);
    expect(rig_decode(r, 1) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(r));
    expect(memcmp(values, r->y.data, r->y.size) == 0, "%s n=%zu%s: the two forms differ", RIG_SAYS(r));
    expect_nothing_spilt(r);
    free(values);
}

static void ask_round_trips(const tithe_codec *codec, void *context)
{
    static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 1000, 4095, 4096, 4097, 8193};
    (void)context;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rig r = rig_make(codec, sizes[i], i % 5 ? i : 0);
        for (input_kind k = 0; k < KINDS; k++)
            if (sizes[i] <= 1000 || k == (input_kind)(i % KINDS) || k == GAUSSIAN) expect_round_trip(&r, k);
        rig_free(&r);
    }
}

static void what_is_decoded_is_what_was_sent(void **state)
{
    (void)state;
    ask_every_codec(ask_round_trips, NULL);
}

static void long_vectors_too(void **state)
{
    (void)state;
    static const char *const specs[] = {"raw",
                                        "natural",
                                        "dither:bucket=512,code=elias",
                                        "topk:keep=0.01|natural",
                                        "threshold:lambda=2|sign",
                                        "mstopk:keep=0.001|f16",
                                        "randk:keep=0.6|natdither",
                                        "stochastic:keep=0.05",
                                        "topk:rule=l2|sign",
                                        "given|bf16"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tithe_codec *codec = codec_of(specs[i]);
        rig r = rig_make(codec, 100000, i);
        expect_round_trip(&r, GAUSSIAN);
        rig_free(&r);
        tithe_codec_free(codec);
    }
}

static void ask_about_nothing(const tithe_codec *codec, void *context)
{
    (void)context;
    rig r = rig_make(codec, 0, 0);
    r.call.segments = r.segments;
    const tithe_status status =
        r.type == TITHE_F32
            ? tithe_encode(codec, &r.call, NULL, 0, r.frame.data, r.bound, &r.info, &r.error)
            : tithe_encode_f64(codec, &r.call, NULL, 0, r.frame.data, r.bound, &r.info, &r.error);
    expect(status == TITHE_OK && r.info.entries == 0, "%s n=%zu: %s", RIG_SAYS(&r));
    expect(decode_any(codec, &r.call, r.frame.data, r.info.bytes, 1, NULL, 0, &r.error) == TITHE_OK,
           "%s n=%zu: %s", RIG_SAYS(&r));
    rig_free(&r);
}

static void an_empty_vector_needs_no_address(void **state)
{
    (void)state;
    ask_every_codec(ask_about_nothing, NULL);
}

/* ---- buffers ------------------------------------------------------------------------------------------- */

static void ask_about_room(const tithe_codec *codec, void *context)
{
    (void)context;
    static const size_t sizes[] = {0, 1, 9, 300};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rig r = rig_make(codec, sizes[i], 1 + 2 * i);
        rig_fill(&r, GAUSSIAN);
        r.info.bytes = UNTOUCHED;

        r.call.scratch_size--;
        if (r.scratch.size)
            expect(rig_encode(&r) == TITHE_E_SPACE, "%s n=%zu takes a scratch that is too small",
                   tithe_codec_spec(codec), r.n);
        r.call.scratch_size = r.scratch.size;
        expect(rig_encode_into(&r, r.frame.data, 5) == TITHE_E_SPACE, "%s takes 5 bytes for a frame",
               tithe_codec_spec(codec));
        expect(r.info.bytes == UNTOUCHED && bytes_are(r.frame.data, r.bound, GUARD_BYTE) &&
                   strlen(r.error.text) > 10,
               "%s n=%zu: %s, but it wrote", RIG_SAYS(&r));

        expect(rig_encode(&r) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(&r));
        const size_t bytes = r.info.bytes;
        uint8_t *sent = malloc(bytes);
        assert_non_null(sent);
        memcpy(sent, r.frame.data, bytes);
        memset(r.frame.data, GUARD_BYTE, r.bound);
        expect(rig_encode_into(&r, r.frame.data, bytes - 1) == TITHE_E_SPACE,
               "%s n=%zu%s: wrote into one byte too few", RIG_SAYS(&r));
        expect(bytes_are(r.frame.data, r.bound, GUARD_BYTE), "%s n=%zu%s: wrote into too small a frame",
               RIG_SAYS(&r));

        /* A decoder without scratch leaves y alone. */
        memset(r.y.data, 0x33, r.y.size);
        r.call.scratch_size = 0;
        const tithe_status status = decode_any(codec, &r.call, sent, bytes, 1, r.y.data, r.n, &r.error);
        expect(r.scratch.size ? status == TITHE_E_SPACE && bytes_are(r.y.data, r.y.size, 0x33)
                              : status == TITHE_OK,
               "%s n=%zu decodes without scratch: %s", RIG_SAYS(&r));
        expect_nothing_spilt(&r);
        free(sent);
        rig_free(&r);
    }
}

static void buffers_too_small_are_refused_untouched(void **state)
{
    (void)state;
    ask_every_codec(ask_about_room, NULL);
}

/* ---- numbers that are none ------------------------------------------------------------------------------ */

static void ask_about_nonfinite(const tithe_codec *codec, void *context)
{
    (void)context;
    static const size_t sizes[] = {1, 33, 2500};
    const double bad[] = {(double)NAN, (double)INFINITY, (double)-INFINITY};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rig r = rig_make(codec, sizes[i], 0);
        r.info.bytes = UNTOUCHED;
        const size_t places[] = {0, r.n / 2, r.n - 1};
        for (int p = 0; p < 3; p++)
            for (int b = 0; b < 3; b++) {
                rig_fill(&r, GAUSSIAN);
                set_number(r.type, r.x, places[p], bad[b]);
                if (p == 0) set_number(r.type, r.x, r.n - 1, bad[b]); /* the first one counts */
                expect(rig_encode(&r) == TITHE_E_NONFINITE, "%s n=%zu sends %g", tithe_codec_spec(codec), r.n,
                       bad[b]);
                assert_int_equal(r.error.code, TITHE_E_NONFINITE);
                assert_int_equal(r.error.position, places[p]);
                expect_no_frame(&r);
            }
        rig_free(&r);
    }
}

static void nan_and_infinity_are_refused_with_their_position(void **state)
{
    (void)state;
    ask_every_codec(ask_about_nonfinite, NULL);
}

/* ---- randomness ----------------------------------------------------------------------------------------- */

static bool is_random(const tithe_codec *codec)
{
    static const char *const names[] = {"randk", "stochastic", "natural", "dither", "natdither", "int32"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(tithe_codec_selector(codec)->name, names[i]) == 0 ||
            strcmp(tithe_codec_quantizer(codec)->name, names[i]) == 0)
            return true;
    return false;
}

/* Does the payload of any of these calls differ from `first`? The header holds the step and is left aside. */
static bool payload_changes(rig *r, const uint8_t *first, size_t bytes, tithe_call call)
{
    r->call = call;
    expect(rig_encode(r) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(r));
    const size_t h = r->info.header_bytes;
    return r->info.bytes != bytes || memcmp((uint8_t *)r->frame.data + h, first + h, bytes - h - 4) != 0;
}

static void ask_about_randomness(const tithe_codec *codec, void *context)
{
    (void)context;
    if (strncmp(tithe_codec_spec(codec), "mstopk", 6) == 0 && !is_random(codec))
        return; /* depends on the data */
    if (strcmp(tithe_codec_quantizer(codec)->name, "int32") == 0 && !source_is(codec, TITHE_INDICES_ALL))
        return; /* of survivors of one size nothing has to be rounded */
    rig r = rig_make(codec, 500, 0);
    rig_fill(&r, GAUSSIAN);
    const tithe_call call = r.call;
    expect(rig_encode(&r) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(&r));
    const size_t bytes = r.info.bytes;
    uint8_t *first = malloc(bytes);
    assert_non_null(first);
    memcpy(first, r.frame.data, bytes);
    memset(r.frame.data, 0, r.bound);
    memset(r.scratch.data, 0x5a, r.scratch.size);
    expect(rig_encode(&r) == TITHE_OK && r.info.bytes == bytes && memcmp(first, r.frame.data, bytes) == 0,
           "%s n=%zu%s: equal calls, other bytes", RIG_SAYS(&r));
    for (int what = 0; what < 4; what++) {
        bool changes = false;
        for (uint32_t by = 1; by <= 20; by++) { /* a few entries may fall the same way once or twice */
            tithe_call other = call;
            if (what == 0) other.seed += by;
            if (what == 1) other.step += by;
            if (what == 2) other.rank += by;
            if (what == 3) other.tensor += by;
            changes |= payload_changes(&r, first, bytes, other);
        }
        expect(changes == is_random(codec), "%s: randomness and its field %d", tithe_codec_spec(codec), what);
    }
    free(first);
    rig_free(&r);
}

static void randomness_is_a_function_of_the_call(void **state)
{
    (void)state;
    ask_every_codec(ask_about_randomness, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_decoded_is_what_was_sent),
        cmocka_unit_test(long_vectors_too),
        cmocka_unit_test(an_empty_vector_needs_no_address),
        cmocka_unit_test(buffers_too_small_are_refused_untouched),
        cmocka_unit_test(nan_and_infinity_are_refused_with_their_position),
        cmocka_unit_test(randomness_is_a_function_of_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
