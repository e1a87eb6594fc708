/* sized.h - structs of the interface that may grow begin with their size, as the header has it that their owner was compiled
 * against. Members are only added at the end, so what two of them have in common is the shorter one. */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <stddef.h>
#include <string.h>

static inline size_t sized_common(const void *a, const void *b)
{
    size_t sizes[2];
    memcpy(&sizes[0], a, sizeof sizes[0]);
    memcpy(&sizes[1], b, sizeof sizes[1]);
    return sizes[0] < sizes[1] ? sizes[0] : sizes[1];
}

/* All that both have, but for the sizes themselves; the rest of `to` stays as it is. */
static inline void sized_copy(void *to, const void *from)
{
    const size_t common = sized_common(to, from), size = sizeof(size_t);
    if (common > size) memcpy((char *)to + size, (const char *)from + size, common - size);
}

#endif
