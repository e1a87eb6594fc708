/* failing_malloc.c - to be preloaded: the memory ends after as many allocations as FAIL_AFTER says. For glibc. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static int is_over(void)
{
    static _Atomic long asked, limit = -1;
    if (limit < 0) {
        const char *text = getenv("FAIL_AFTER");
        limit = text ? atol(text) : 1L << 40;
    }
    if (asked++ < limit) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return is_over() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return is_over() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return is_over() ? NULL : __libc_realloc(old, size);
}
