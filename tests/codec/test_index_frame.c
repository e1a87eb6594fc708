/* test_index_frame.c - positions without values: what is written is read, and every flipped bit, cut and stranger is
 * noticed. */
#include "codec/codec.h"
#include "support.h"

enum { N = 1000, ROOM = N + 16 };

static void positions_come_back(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 7, N};
    tithe_codec *codec = codec_of("topk:keep=0.5");
    const tithe_call call = {.step = 70000, .form = TITHE_EXCHANGE};
    for (unsigned l = 0; l < 4; l++)
        for (unsigned every = 1; every <= 97; every += 8) {
            const size_t n = lengths[l];
            uint32_t indices[ROOM], read[ROOM];
            size_t count = 0, found = 0;
            for (size_t i = every / 2; i < n; i += every) indices[count++] = (uint32_t)i;
            uint8_t frame[8 * N];
            const size_t length = ti_index_frame_write(codec, &call, indices, count, n, frame);
            tithe_error error = {0};
            expect(ti_index_frame_read(codec, &call, frame, length, n, n, read, &found, &error) == TITHE_OK,
                   "%s", error.text);
            assert_int_equal(found, count);
            assert_true(count == 0 || memcmp(read, indices, count * sizeof *read) == 0);
            if (count)
                assert_int_equal(
                    ti_index_frame_read(codec, &call, frame, length, n, count - 1, read, &found, &error),
                    TITHE_E_MISMATCH);
        }
    tithe_codec_free(codec);
}

static void damage_is_noticed(void **state)
{
    (void)state;
    tithe_codec *codec = codec_of("topk:k=9");
    const tithe_call call = {.step = 3, .form = TITHE_EXCHANGE}, later = {.step = 4, .form = TITHE_EXCHANGE};
    const uint32_t indices[9] = {3, 4, 80, 81, 82, 300, 555, 998, 999};
    uint32_t read[ROOM];
    uint8_t frame[8 * N];
    size_t found;
    const size_t length = ti_index_frame_write(codec, &call, indices, 9, N, frame);
    for (size_t bit = 0; bit < 8 * length; bit++) {
        frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
        expect(ti_index_frame_read(codec, &call, frame, length, N, 9, read, &found, NULL) != TITHE_OK,
               "bit %zu of %zu was not missed", bit, 8 * length);
        frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t cut = 0; cut < length; cut++)
        assert_true(ti_index_frame_read(codec, &call, frame, cut, N, 9, read, &found, NULL) != TITHE_OK);
    assert_int_equal(ti_index_frame_read(codec, &later, frame, length, N, 9, read, &found, NULL),
                     TITHE_E_MISMATCH);

    /* a whole frame, values and all, is none of these */
    float x[N] = {0};
    for (unsigned i = 0; i < 9; i++) x[indices[i]] = 1;
    const size_t size = tithe_codec_scratch(codec, N);
    tithe_call full = call;
    full.scratch = malloc(size);
    full.scratch_size = size;
    tithe_frame_info info;
    assert_int_equal(tithe_encode(codec, &full, x, N, frame, sizeof frame, &info, NULL), TITHE_OK);
    assert_int_equal(info.bytes, length + 36);
    assert_int_equal(ti_index_frame_read(codec, &call, frame, info.bytes, N, 9, read, &found, NULL),
                     TITHE_E_CORRUPT);
    free(full.scratch);
    tithe_codec_free(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_come_back),
        cmocka_unit_test(damage_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
