/* watch.h - counts every visit to the allocator, those of the C library on behalf of a call too: for tests of "nothing is
 * allocated here". Include it in one file of a program only: it takes the place of malloc. */
#ifndef TESTS_WATCH_H
#define TESTS_WATCH_H

#include "support.h"

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

/* Is the watch awake? */
static inline void watch_check(void)
{
#ifdef CANNOT_WATCH
    print_message("SKIP: this C library does not let a test take the place of malloc\n");
    skip();
#endif
    const size_t before = visits;
    void *volatile awake = malloc(100);
    free(awake);
    expect(visits == before + 2, "the watch is asleep: %zu visits", visits - before);
}

#endif
