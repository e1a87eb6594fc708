/* lengths_mpi.c - one block from rank 1 to rank 0 over MPI, where the two may think differently of its length; test_lengths.py runs it.
 *
 * usage: lengths_mpi EXPECTED SENT      rank 0 prints what came of it
 *        lengths_mpi BYTES              a broadcast of so many, for a look by hand at more than 4 GiB */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tithe/coll.h"
#include "tithe/transport.h"

static tithe_status gather(tithe_comm *comm, unsigned rank, size_t expected, size_t sent, tithe_error *error)
{
    const size_t lengths[2] = {1, rank ? sent : expected};
    uint8_t *blocks[2] = {calloc(1, 1), calloc(lengths[1], 1)};
    const tithe_collective *ring;
    tithe_collective_find("ring", &ring, NULL, NULL);
    const tithe_status status = tithe_all_gather(comm, ring, blocks, lengths, error);
    free(blocks[0]);
    free(blocks[1]);
    return status;
}

static tithe_status broadcast(tithe_comm *comm, unsigned rank, size_t bytes, tithe_error *error)
{
    uint8_t *block = calloc(bytes, 1);
    size_t length = rank ? 0 : bytes;
    if (rank == 0) memset(block, 7, bytes);
    tithe_status status = tithe_broadcast(comm, 0, &block, bytes, &length, error);
    if (!status && (length != bytes || block[bytes - 1] != 7)) status = TITHE_E_CORRUPT;
    free(block);
    return status;
}

int main(int argc, char **argv)
{
    tithe_error error = {.text = ""};
    tithe_comm *comm = NULL;
    tithe_status status = tithe_comm_mpi(NULL, &comm, &error);
    if (status || argc < 2) return 2;
    tithe_comm_set_timeout(comm, 60);
    const unsigned rank = tithe_comm_rank(comm);
    const size_t first = (size_t)strtoull(argv[1], NULL, 10);
    status = argc == 2 ? broadcast(comm, rank, first, &error)
                       : gather(comm, rank, first, (size_t)strtoull(argv[2], NULL, 10), &error);
    if (status) tithe_comm_give_up(comm, error.text);
    if (rank == 0 || argc == 2) printf("%s\n", status ? error.text : "all is well");
    tithe_comm_free(comm);
    return 0;
}
