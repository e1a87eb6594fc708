/* transports.c - see transports.h. */
#include "transports.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "processes.h"
#include "text.h"

/* What is loaded by its name is compared with the header here. */
_Static_assert(_Generic(&tithe_comm_mpi, transport_open_mpi * : 1, default : 0), "as in transport.h");
_Static_assert(_Generic(&tithe_comm_zmq, transport_open_zmq * : 1, default : 0), "as in transport.h");

#ifdef TITHE_HAS_MPI
#define NO_MPI NULL
#else
#define NO_MPI "This tithe was built without MPI: build it with -DTITHE_MPI=ON"
#endif
#ifdef TITHE_HAS_ZMQ
#define NO_ZMQ NULL
#else
#define NO_ZMQ "This tithe was built without ZeroMQ: build it with -DTITHE_ZMQ=ON"
#endif

static const transport_row table[] = {
    {.name = "inproc", .summary = "all ranks in this process: nothing has to move"},
    {.name = "mpi",
     .starter = "mpirun -n",
     .summary = "MPI: one rank in each process that mpirun starts",
     .library = "libtithe_mpi.so.0",
     .function = "tithe_comm_mpi",
     .missing = NO_MPI,
     .begin = processes_begin_mpi},
    {.name = "zmq",
     .summary = "ZeroMQ over TCP or IPC: workers on any hosts that come to a server",
     .library = "libtithe_zmq.so.0",
     .function = "tithe_comm_zmq",
     .missing = NO_ZMQ,
     .begin = processes_begin_zmq},
    {0},
};

const transport_row *transports(void)
{
    return table;
}

const transport_row *transport_find(const char *name)
{
    char names[80];
    size_t used = 0;
    for (const transport_row *t = table; t->name; t++) {
        if (strcmp(t->name, name) == 0) return t;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
                                 t == table      ? ""
                                 : (t + 1)->name ? ", "
                                                 : " or ",
                                 t->name);
    }
    text_fail("--transport takes %s, not '%s'", names, name);
    return NULL;
}

/* A library of ours is found where the linker was told that libtithe is. It stays loaded: MPI does not survive less. All see
 * its symbols, since the plugins of some versions of MPI look for those of MPI itself. */
bool transport_load(const transport_row *t, void *function)
{
    void *library = dlopen(t->library, RTLD_NOW | RTLD_GLOBAL);
    void *found = library ? dlsym(library, t->function) : NULL;
    /* ISO C knows no way from a pointer to data to one to a function; POSIX has this one. */
    memcpy(function, &found, sizeof found);
    if (found) return true;
    const char *why = dlerror();
    if (t->missing)
        text_fail("%s", t->missing);
    else
        text_fail("The transport %s cannot be loaded: %s", t->name, why ? why : t->library);
    return false;
}
