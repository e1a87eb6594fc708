/* memory.c - how much memory data may take: what was stated, or a share of what the machine has. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/status.h"
#include "data/data.h"

/* What can be had without swapping, as Linux says; 0: it does not. */
static uint64_t available(void)
{
    unsigned long long kilobytes = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu", &kilobytes) == 1) break;
    if (file) fclose(file);
    return kilobytes << 10;
}

uint64_t tithe_data_max_memory(const tithe_data_options *options)
{
    if (options && options->max_memory) return options->max_memory;
    const uint64_t free_bytes = available();
    if (free_bytes) return free_bytes / 2;
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages / 2 * (uint64_t)size : SIZE_MAX;
}

tithe_status ti_data_expect_memory(const data_rows *d, uint64_t bytes, tithe_error *error)
{
    if (!d->max_bytes || bytes <= d->max_bytes) return TITHE_OK;
    const double megabytes = (double)d->max_bytes / 1e6;
    return ti_fail(error, TITHE_E_MEMORY, 0,
                   "%.80s takes more than %.6g MB of memory: if that is what you want, allow more, such as "
                   "`max-memory=%.0fMB`.",
                   d->name ? d->name : "The data", megabytes, ceil(2 * megabytes));
}
