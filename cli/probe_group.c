/* probe_group.c - see probe_group.h. */
#include "probe_group.h"

#include <stdlib.h>

#include "text.h"

const tithe_probe_link *probe_slowest(const group_links *found)
{
    const tithe_probe_link *worst = found->links;
    for (size_t i = 1; i < found->count; i++)
        if (found->links[i].link.bandwidth < worst->link.bandwidth) worst = &found->links[i];
    return worst;
}

/* False: it failed, and that was said. */
static bool measure(tithe_comm *comm, double seconds, group_links *found)
{
    tithe_error error = {0};
    found->workers = tithe_comm_size(comm);
    found->count = found->workers - 1;
    found->links = text_memory(found->workers * sizeof *found->links);
    const tithe_status status = tithe_probe(comm, seconds, found->links, &error);
    if (status) found->status = text_fail_status(NULL, status, &error);
    return !status;
}

process_part probe_group(const train_settings *s, double seconds, group_links *found)
{
    train_settings joined = *s; /* what is settled on the way is for this group alone */
    processes p;
    joined.run.scheme = "gather"; /* workers talk to each other */
    *found = (group_links){.status = EXIT_BAD};
    process_part part = processes_begin(&joined, &p);
    if (part == PART_ALL) {
        text_fail("It takes another process to measure a link: --transport mpi under mpirun, or --transport "
                  "zmq with "
                  "--local 2 or roles");
        part = PART_FAILED;
    } else if (part == PART_SERVED) {
        found->status = p.status;
    } else if (part != PART_FAILED && joined.run.workers != tithe_comm_size(p.comm)) {
        if (part == PART_FIRST)
            text_fail("--workers says %u, but mpirun started %u processes: leave --workers out",
                      joined.run.workers, tithe_comm_size(p.comm));
        part = PART_FAILED;
    } else if (part != PART_FAILED) {
        const bool measured = measure(p.comm, seconds, found);
        if (measured && part == PART_OTHER) found->status = EXIT_DONE;
        if (!measured || part == PART_OTHER) {
            free(found->links);
            found->links = NULL;
        }
        if (!measured) part = PART_FAILED;
    }
    processes_end(&p);
    return part;
}
