/* reduce.c - a reduction by a switch that was attached to the group: all ranks take part, and none hears of the others but by its
 * outcome. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "comm/comm.h"

/* A number that no other run has, 52 bits of it, since it travels as a double; the first rank's, or whichever is largest. */
static tithe_status agree_on_job(tithe_comm *comm, uint64_t *job, tithe_error *error)
{
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return ti_fail(error, TITHE_E_FILE, 0, "The system has no random number for the name of a job.");
    double number = (double)(random >> 12);
    const tithe_status status = ti_comm_fold(comm, COMM_MAX, &number, 1, error);
    *job = (uint64_t)number;
    return status;
}

/* Half of what others wait who have to hear of it: ranks that can do without it, and a server that is none of them, which would otherwise
 * be the first to give up (comm.c), and knows nothing of a switch. */
static double patience(const tithe_comm *comm, bool lets_go)
{
    const double most = comm->timeout > 0 ? comm->timeout : 30;
    return lets_go || ti_comm_has_own_server(comm) ? most / 2 : comm->timeout;
}

tithe_status ti_comm_join_switch(tithe_comm *comm, bool lets_go, tithe_error *error)
{
    if (comm->failed.code) {
        if (error) *error = comm->failed;
        return comm->failed.code;
    }
    if (comm->joined) return TITHE_OK;
    uint64_t job = 0;
    tithe_status status = agree_on_job(comm, &job, error);
    if (!status)
        status = comm->aggregator->join(comm->aggregator_self, job, comm->size, comm->first, comm->local,
                                        patience(comm, lets_go), error);
    comm->joined = !status;
    return status;
}

tithe_status ti_comm_reduce(tithe_comm *comm, const agg_reduction *r, const uint8_t *const *up, uint8_t *down,
                            bool lets_go, tithe_error *error)
{
    const double start = clock_now();
    const tithe_status status =
        comm->aggregator->reduce(comm->aggregator_self, r, up, down, patience(comm, lets_go), error);
    comm->waited += clock_now() - start;
    return status;
}

tithe_status ti_comm_agree_on_switch(tithe_comm *comm, tithe_status status, tithe_error *error)
{
    const bool failed = status == TITHE_E_PEER || status == TITHE_E_TIMEOUT || status == TITHE_E_FILE;
    if (status && !failed) return status;
    double any = failed;
    const char *why = failed ? error->text : "Another rank has lost the switch";
    const char *remedy = strstr(why, ": "); /* for a run that ends with it */
    const int most = 120, length = remedy && remedy - why < most ? (int)(remedy - why) : most;
    snprintf(comm->lost_as, sizeof comm->lost_as, "%.*s", length, why);
    status = ti_comm_fold(comm, COMM_MAX, &any, 1, error);
    comm->lost = !status && any > 0;
    return status;
}

void ti_comm_attach(tithe_comm *comm, const aggregator *by, void *self)
{
    ti_comm_detach(comm);
    comm->aggregator = by;
    comm->aggregator_self = self;
}

void ti_comm_detach(tithe_comm *comm)
{
    if (comm->aggregator) comm->aggregator->close(comm->aggregator_self);
    comm->aggregator = NULL;
    comm->aggregator_self = NULL;
    comm->joined = comm->lost = false;
}
