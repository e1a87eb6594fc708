/* test_allocation.c - no call allocates: every codec encodes, decodes, checks and feeds back while each visit to the
 * allocator is counted. That includes what the C library does on behalf of a call, so qsort would show. */
#include "codec/contract.h"

static _Thread_local volatile size_t
    visits; /* by this thread; volatile, or compilers know what malloc never changes */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WATCHED_BY_HOOKS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define WATCHED_BY_HOOKS
#endif
#endif

#ifdef WATCHED_BY_HOOKS
/* A sanitizer has replaced the allocator already, and tells who asks. */
int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t),
                                              void (*)(const volatile void *));

static void on_malloc(const volatile void *p, size_t size)
{
    (void)p, (void)size;
    visits++;
}

static void on_free(const volatile void *p)
{
    (void)p;
    visits++;
}

static int watch(void **state)
{
    (void)state;
    return __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) == 0;
}
#elif defined(__GLIBC__)
/* These take the place of the C library's own, for the whole program and for the library itself. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

void *malloc(size_t size)
{
    visits++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    visits++;
    return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    visits++;
    return __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    visits++;
    return __libc_memalign(alignment, size);
}

void free(void *p)
{
    visits++;
    __libc_free(p);
}

static int watch(void **state)
{
    (void)state;
    return 0;
}
#else
#define CANNOT_WATCH
static int watch(void **state)
{
    (void)state;
    return 0;
}
#endif

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
#ifdef CANNOT_WATCH
    print_message("SKIP: this C library does not let a test take the place of malloc\n");
    skip();
#endif
    const size_t before = visits;
    void *volatile awake = malloc(100);
    free(awake);
    expect(visits == before + 2, "the watch is asleep: %zu visits", visits - before);
    size_t asked = 0;
    ask_every_codec(ask, &asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_call_allocates)};
    return cmocka_run_group_tests(tests, watch, NULL);
}
