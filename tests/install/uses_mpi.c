/* uses_mpi.c - a program of somebody who installed libtithe_mpi, and has no MPI of its own: a group of one process. */
#include <stdio.h>

#include <tithe/transport.h>

int main(void)
{
    tithe_comm *comm = NULL;
    tithe_error error = {0};
    const tithe_status status = tithe_comm_mpi(NULL, &comm, &error);
    if (status) {
        printf("%s\n", error.text);
        return 1;
    }
    printf("rank %u of %u over %s\n", tithe_comm_rank(comm), tithe_comm_size(comm),
           tithe_comm_transport(comm));
    tithe_comm_free(comm);
    return 0;
}
