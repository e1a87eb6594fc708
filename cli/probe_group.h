/* probe_group.h - the links of a group of processes, measured: for `tithe probe`, and for a verb that wants to know the link it is on. */
#ifndef TITHE_CLI_PROBE_GROUP_H
#define TITHE_CLI_PROBE_GROUP_H

#include "processes.h"
#include "tithe/probe.h"

typedef struct group_links {
    tithe_probe_link
        *links; /* from rank 0 to each other rank; the caller frees them. NULL: this process has none */
    size_t count;
    unsigned workers; /* of the group */
    int status;       /* of a process whose part is over */
} group_links;

/* Joins the others, measures for about `seconds`, and leaves them: when it comes back, nobody waits for anybody. PART_FIRST has the links; for
 * every other part this was all, and `status` says how it went. */
process_part probe_group(const train_settings *s, double seconds, group_links *found);

/* Collectives wait for the slowest link, so that one is the answer. */
const tithe_probe_link *probe_slowest(const group_links *found);

#endif
