/* test_contract_frames.c - frames that are not what was sent: cut, damaged, forged, or meant for somebody else. Every
 * codec is asked; y stays as it was unless the answer is TITHE_OK. */
#include "codec/contract.h"

/* A copy of exactly the frame's size, so that a sanitizer sees the first byte read beyond it. */
static uint8_t *copy_of(const void *frame, size_t bytes)
{
    uint8_t *copy = malloc(bytes);
    expect(bytes == 0 || copy, "no memory for %zu bytes", bytes);
    if (bytes) memcpy(copy, frame, bytes);
    return copy;
}

/* Decode into a patterned y; all or nothing. Returns the status, which tithe_frame_check has to share. */
static tithe_status try_frame(rig *r, const uint8_t *frame, size_t length)
{
    memset(r->y.data, 0x11, r->y.size); /* a small positive number in either type */
    const tithe_status status = decode_any(r->codec, &r->call, frame, length, 1, r->y.data, r->n, &r->error);
    tithe_error second = {0};
    const tithe_status checked = tithe_frame_check(r->codec, &r->call, frame, length, r->n, NULL, &second);
    expect(checked == status, "%s n=%zu: %s, but checking alone says: %s", RIG_SAYS(r), second.text);
    if (status)
        expect(bytes_are(r->y.data, r->y.size, 0x11), "%s n=%zu: %s, but y was touched", RIG_SAYS(r));
    else
        expect(all_finite(r->type, r->y.data, r->n), "%s n=%zu%s: y is not finite", RIG_SAYS(r));
    expect(guarded_is_intact(&r->y) && guarded_is_intact(&r->scratch), "%s n=%zu: %s, and wrote beside",
           RIG_SAYS(r));
    return status;
}

static void in_both_forms(const tithe_codec *codec, size_t n, input_kind k, void (*question)(rig *r))
{
    for (int form = TITHE_SELF_CONTAINED; form <= TITHE_EXCHANGE; form++) {
        rig r = rig_make(codec, n, 0);
        rig_fill(&r, k);
        r.call.form = (tithe_form)form;
        expect(rig_encode(&r) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(&r));
        question(&r);
        rig_free(&r);
    }
}

/* ---- cut and prolonged ---------------------------------------------------------------------------------- */

static void cut_everywhere(rig *r)
{
    for (size_t length = 0; length < r->info.bytes; length++) {
        uint8_t *cut = copy_of(r->frame.data, length);
        if (length) /* nothing at all has no address to hand in */
            expect(try_frame(r, cut, length) == TITHE_E_CORRUPT, "%s n=%zu takes %zu bytes of its frame",
                   tithe_codec_spec(r->codec), r->n, length);
        if (length > 4) {
            repair_checksum(cut, length);
            expect(try_frame(r, cut, length) == TITHE_E_CORRUPT,
                   "%s n=%zu takes %zu bytes of its frame with a new checksum", tithe_codec_spec(r->codec),
                   r->n, length);
        }
        free(cut);
    }
}

static void prolong(rig *r)
{
    const size_t bytes = r->info.bytes;
    uint8_t *longer = malloc(bytes + 1);
    assert_non_null(longer);
    for (int fill = 0; fill < 256; fill += 85) {
        memcpy(longer, r->frame.data, bytes);
        longer[bytes] = (uint8_t)fill;
        expect(try_frame(r, longer, bytes + 1) == TITHE_E_CORRUPT, "%s n=%zu takes a byte behind its frame",
               tithe_codec_spec(r->codec), r->n);
        longer[bytes - 4] = (uint8_t)fill; /* between the values and the checksum */
        repair_checksum(longer, bytes + 1);
        expect(try_frame(r, longer, bytes + 1) == TITHE_E_CORRUPT,
               "%s n=%zu takes a byte before its checksum", tithe_codec_spec(r->codec), r->n);
    }
    free(longer);
}

static void ask_about_lengths(const tithe_codec *codec, void *context)
{
    (void)context;
    static const size_t sizes[] = {0, 1, 8, 33, 150};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        in_both_forms(codec, sizes[i], GAUSSIAN, cut_everywhere);
        in_both_forms(codec, sizes[i], GAUSSIAN, prolong);
    }
    in_both_forms(codec, 33, ALL_ZERO, prolong);
}

static void a_frame_has_exactly_one_length(void **state)
{
    (void)state;
    ask_every_codec(ask_about_lengths, NULL);
}

/* ---- damaged -------------------------------------------------------------------------------------------- */

static void flip_every_bit(rig *r)
{
    const size_t bytes = r->info.bytes;
    uint8_t *frame = copy_of(r->frame.data, bytes);
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
        expect(try_frame(r, frame, bytes) == TITHE_E_CORRUPT, "%s n=%zu takes its frame with bit %zu flipped",
               tithe_codec_spec(r->codec), r->n, bit);
        frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    expect(try_frame(r, frame, bytes) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(r));
    free(frame);
}

static void ask_about_flips(const tithe_codec *codec, void *context)
{
    (void)context;
    in_both_forms(codec, 0, GAUSSIAN, flip_every_bit);
    in_both_forms(codec, 1, GAUSSIAN, flip_every_bit);
    in_both_forms(codec, 45, GAUSSIAN, flip_every_bit);
}

static void every_flipped_bit_is_found(void **state)
{
    (void)state;
    ask_every_codec(ask_about_flips, NULL);
}

/* ---- forged: any bytes with a sound checksum ------------------------------------------------------------- */

typedef struct forgeries {
    size_t taken, refused;
    dice d;
} forgeries;

static forgeries forged = {0, 0, {99}};

static void forge(rig *r)
{
    const size_t bytes = r->info.bytes;
    for (int trial = 0; trial < 250; trial++) {
        uint8_t *frame = copy_of(r->frame.data, bytes);
        const size_t first = trial % 2 ? 1 : r->info.header_bytes; /* both: deep in, and in the header */
        for (size_t change = 0; change <= roll_below(&forged.d, 3) && first < bytes - 4; change++) {
            const size_t at = first + roll_below(&forged.d, bytes - 4 - first);
            if (roll_below(&forged.d, 2))
                frame[at] ^= (uint8_t)(1u << roll_below(&forged.d, 8));
            else
                frame[at] = (uint8_t)roll(&forged.d);
        }
        repair_checksum(frame, bytes);
        const tithe_status status = try_frame(r, frame, bytes);
        expect(status == TITHE_OK || status == TITHE_E_CORRUPT || status == TITHE_E_MISMATCH,
               "%s n=%zu answers a forged frame with: %s", RIG_SAYS(r));
        forged.taken += status == TITHE_OK;
        forged.refused += status != TITHE_OK;
        free(frame);
    }
}

static void ask_about_forgeries(const tithe_codec *codec, void *context)
{
    (void)context;
    in_both_forms(codec, 60, GAUSSIAN, forge);
    in_both_forms(codec, 9, ONE_HOT, forge);
}

static void forged_frames_do_no_harm(void **state)
{
    (void)state;
    ask_every_codec(ask_about_forgeries, NULL);
    /* Neither answer may be rare, or the forgeries ask nothing. */
    expect(forged.taken > 5000 && forged.refused > 5000, "%zu taken, %zu refused", forged.taken,
           forged.refused);
}

/* ---- for somebody else ----------------------------------------------------------------------------------- */

static void ask_about_mismatch(const tithe_codec *codec, void *context)
{
    (void)context;
    rig r = rig_make(codec, 40, 0);
    rig_fill(&r, GAUSSIAN);
    expect(rig_encode(&r) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(&r));
    rig other = rig_make(codec, 41, 0);
    expect(try_frame(&other, r.frame.data, r.info.bytes) == TITHE_E_MISMATCH,
           "%s takes a frame of 40 for one of 41", tithe_codec_spec(codec));
    assert_non_null(strstr(other.error.text, "40"));
    assert_non_null(strstr(other.error.text, "41"));
    rig_free(&other);

    static const char *const others[] = {"topk:k=3|sign", "threshold:lambda=1|bf16", "all|raw"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strncmp(others[i], tithe_codec_spec(codec), strcspn(others[i], ":|")) == 0) continue;
        tithe_codec *stranger = codec_of(others[i]);
        other = rig_make(stranger, 40, 0);
        expect(try_frame(&other, r.frame.data, r.info.bytes) == TITHE_E_MISMATCH, "%s takes a frame of %s",
               others[i], tithe_codec_spec(codec));
        assert_non_null(strstr(other.error.text, tithe_codec_spec(stranger)));
        rig_free(&other);
        tithe_codec_free(stranger);
    }

    r.call.form = TITHE_EXCHANGE;
    r.call.step = 123456;
    expect(rig_encode(&r) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(&r));
    expect(try_frame(&r, r.frame.data, r.info.bytes) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(&r));
    r.call.step = 123457;
    expect(try_frame(&r, r.frame.data, r.info.bytes) == TITHE_E_MISMATCH, "%s takes a frame of another step",
           tithe_codec_spec(codec));
    assert_non_null(strstr(r.error.text, "57920")); /* 123456 mod 65536 */
    assert_non_null(strstr(r.error.text, "123457"));
    tithe_frame_header h;
    assert_int_equal(tithe_frame_read(r.frame.data, r.info.bytes, &h, NULL), TITHE_E_CORRUPT);
    rig_free(&r);
}

static void a_frame_for_somebody_else_is_a_mismatch(void **state)
{
    (void)state;
    ask_every_codec(ask_about_mismatch, NULL);
}

static void scale_and_type_are_part_of_the_codec(void **state)
{
    (void)state;
    tithe_codec *plain = codec_of("natural"), *scaled = codec_of("natural:scale=contractive"),
                *doubles = codec_of("natural:type=f64");
    rig r = rig_make(plain, 20, 0);
    rig_fill(&r, GAUSSIAN);
    assert_int_equal(rig_encode(&r), TITHE_OK);
    double y[20] = {0};
    assert_int_equal(decode_any(scaled, &r.call, r.frame.data, r.info.bytes, 1, y, 20, &r.error),
                     TITHE_E_MISMATCH);
    assert_int_equal(decode_any(doubles, &r.call, r.frame.data, r.info.bytes, 1, y, 20, &r.error),
                     TITHE_E_MISMATCH);
    assert_true(bytes_are(y, sizeof y, 0));
    /* The other type's functions say so at once. */
    assert_int_equal(tithe_decode_add_f64(plain, &r.call, r.frame.data, r.info.bytes, 1, y, 20, &r.error),
                     TITHE_E_ARGUMENT);
    assert_int_equal(tithe_encode(doubles, &r.call, r.x, 20, r.frame.data, r.bound, &r.info, &r.error),
                     TITHE_E_ARGUMENT);
    rig_free(&r);
    tithe_codec_free(plain);
    tithe_codec_free(scaled);
    tithe_codec_free(doubles);
}

static void parameters_that_the_frame_holds_win(void **state)
{
    (void)state;
    /* bits, s, p, bucket, norm and code travel in the frame, so any dither reads any other's. */
    tithe_codec *writer = codec_of("dither:s=100,bucket=7,norm=natural,code=elias"),
                *reader = codec_of("dither");
    rig r = rig_make(writer, 40, 0);
    rig_fill(&r, GAUSSIAN);
    assert_int_equal(rig_encode(&r), TITHE_OK);
    float mine[40] = {0}, theirs[40] = {0};
    assert_int_equal(tithe_decode_add(writer, &r.call, r.frame.data, r.info.bytes, 1, mine, 40, NULL),
                     TITHE_OK);
    assert_int_equal(tithe_decode_add(reader, &r.call, r.frame.data, r.info.bytes, 1, theirs, 40, NULL),
                     TITHE_OK);
    assert_memory_equal(mine, theirs, sizeof mine);
    rig_free(&r);
    tithe_codec_free(writer);
    tithe_codec_free(reader);
}

/* A codec that knows what it expects looks at the flags as strictly as a stranger. */
static void widths_that_do_not_go_with_the_type_are_corrupt(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        uint8_t flags; /* the third byte of the header: type, scale, bits */
    } bad[] = {{"natural", 3 << 2},
               {"natural:bits=8", 3 << 2},
               {"natural:type=f64", 1 | 1 << 2},
               {"natural:type=f64", 1 | 2 << 2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tithe_codec *codec = codec_of(bad[i].spec);
        rig r = rig_make(codec, 8, 0);
        rig_fill(&r, GAUSSIAN);
        assert_int_equal(rig_encode(&r), TITHE_OK);
        uint8_t *frame = copy_of(r.frame.data, r.info.bytes);
        frame[2] = bad[i].flags;
        repair_checksum(frame, r.info.bytes);
        expect(try_frame(&r, frame, r.info.bytes) == TITHE_E_CORRUPT, "%s takes flags %u", bad[i].spec,
               bad[i].flags);
        free(frame);
        rig_free(&r);
        tithe_codec_free(codec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_has_exactly_one_length),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(forged_frames_do_no_harm),
        cmocka_unit_test(a_frame_for_somebody_else_is_a_mismatch),
        cmocka_unit_test(scale_and_type_are_part_of_the_codec),
        cmocka_unit_test(parameters_that_the_frame_holds_win),
        cmocka_unit_test(widths_that_do_not_go_with_the_type_are_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
