/* test_allocation.c - no call allocates: every codec encodes, decodes, checks and feeds back while each visit to the
 * allocator is counted. That includes what the C library does on behalf of a call, so qsort would show. */
#include "codec/contract.h"
#include "watch.h"

static void ask(const tithe_codec *codec, void *context)
{
    size_t *asked = context;
    static const size_t sizes[] = {0, 1, 1000, 20000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i] > 1000 && ++*asked % 7) continue; /* the long ones take their time */
        rig r = rig_make(codec, sizes[i], 0);
        rig_fill(&r, GAUSSIAN);
        void *e = calloc(r.n + 1, sizeof(double));
        tithe_frame_info info;
        rig_clear_y(&r);
        r.call.segments = r.segments;

        const size_t before = visits;
        const tithe_status encoded = rig_encode(&r);
        const tithe_status decoded = rig_decode(&r, 1);
        const tithe_status checked =
            tithe_frame_check(codec, &r.call, r.frame.data, r.info.bytes, r.n, &info, &r.error);
        if (r.type == TITHE_F32)
            (void)tithe_ec_encode(codec, &r.call, e, r.x, 0.5f, r.n, r.frame.data, r.bound, &info, &r.error);
        else
            (void)tithe_ec_encode_f64(codec, &r.call, e, r.x, 0.5, r.n, r.frame.data, r.bound, &info,
                                      &r.error);
        const size_t during = visits - before;

        expect(!encoded && !decoded && !checked, "%s n=%zu: %s", RIG_SAYS(&r));
        expect(during == 0, "%s n=%zu%.0s goes to the allocator %zu times", RIG_SAYS(&r), during);
        free(e);
        rig_free(&r);
    }
}

static void no_call_allocates(void **state)
{
    (void)state;
    watch_check();
    size_t asked = 0;
    ask_every_codec(ask, &asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_call_allocates)};
    return cmocka_run_group_tests(tests, watch, NULL);
}
