/* dispatch.c - which table runs here, and the public functions that are one kernel each. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "tithe/tithe.h"

/* From the definition to the fastest. */
static const kernels *const tables[] = {
    &ti_kernels_ref,
#if defined(__x86_64__)
    &ti_kernels_avx2,
    &ti_kernels_avx512,
#elif defined(__aarch64__)
    &ti_kernels_neon,
#endif
    NULL,
};

const kernels *const *ti_kernel_tables(void)
{
    return tables;
}

/* A name that is unknown or cannot run here is no reason to stop a training: the best table is taken then,
 * and tithe_kernels_name() tells. */
static const kernels *choose(void)
{
    const char *wanted = getenv("TITHE_KERNELS");
    const kernels *best = tables[0];
    for (int i = 0; tables[i]; i++) {
        if (!tables[i]->runs_here()) continue;
        if (wanted && strcmp(wanted, tables[i]->name) == 0) return tables[i];
        best = tables[i];
    }
    return best;
}

/* Threads that come to ti_kernels at once choose the same table, so whoever stores last does no harm. */
static _Atomic(const kernels *) chosen;

const kernels *ti_kernels_force(const kernels *table)
{
    const kernels *used = ti_kernels();
    atomic_store_explicit(&chosen, table, memory_order_release);
    return used;
}

const kernels *ti_kernels(void)
{
    const kernels *table = atomic_load_explicit(&chosen, memory_order_acquire);
    if (!table) {
        table = choose();
        atomic_store_explicit(&chosen, table, memory_order_release);
    }
    return table;
}

const char *tithe_kernels_name(void)
{
    return ti_kernels()->name;
}

void tithe_random_block(tithe_key key, uint64_t block, uint32_t out[TITHE_BLOCK])
{
    ti_kernels()->random_block(key, block, out);
}

uint32_t tithe_crc32c(const uint8_t *bytes, size_t length)
{
    return ~ti_kernels()->crc32c(~UINT32_C(0), bytes, length);
}
