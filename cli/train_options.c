/* train_options.c - see train_options.h. */
#include "train_options.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "text.h"
#include "transports.h"

train_settings train_settings_defaults(void)
{
    train_settings s = {.run.size = sizeof s.run};
    tithe_train_defaults(&s.run);
    return s;
}

void train_settings_free(train_settings *s)
{
    free(s->resumed);
    free(s->replayed);
    free(s->replayed_tuner);
    s->resumed = s->replayed = s->replayed_tuner = NULL;
}

/* As Open MPI, MPICH and what comes of it (Slurm, Intel), and MVAPICH tell the processes that they start. */
bool train_by_mpirun(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *size = getenv(sizes[i]);
        if (size && strtol(size, NULL, 10) > 1) return true;
    }
    return false;
}

const char *train_transport(const train_settings *s)
{
    if (s->transport) return s->transport;
    return train_by_mpirun() ? "mpi" : "inproc";
}

static size_t run_options(train_settings *s, bool of_parts, option *o)
{
    size_t n = 0;
    for (const tithe_option *row = tithe_train_option_table(); row->name; row++)
        if (!(row->flags & TITHE_OPTION_PARTS) == !of_parts) o[n++] = option_run(row, &s->run);
    return n;
}

size_t train_options_table(train_settings *s, option *table)
{
    return run_options(s, false, table);
}

size_t train_parts_options(train_settings *s, option *table)
{
    return run_options(s, true, table);
}

size_t train_process_options(train_settings *s, option *o)
{
    size_t n = 0;
    o[n++] = option_text("transport", "NAME",
                         "inproc: all workers in this process (default); mpi: one in each process of "
                         "mpirun (default there); zmq: one in each process of the following",
                         &s->transport);
    o[n++] = option_number("local", "N", "zmq: start N workers and a server here", 1, 1000, &s->local);
    o[n++] = option_text("role", "server|worker", "zmq: what this process is", &s->role);
    o[n++] = option_text("listen", "ENDPOINT", "zmq server: where, such as tcp://*:5555", &s->listen);
    o[n++] = option_text("connect", "ENDPOINT",
                         "zmq worker: where the server is, such as tcp://10.0.0.1:5555", &s->connect);
    o[n++] = option_real("deadline", "SECONDS",
                         "the longest that one process waits for another, once MPI has started (default 30)",
                         0.1, 1e6, &s->deadline);
    return n;
}

size_t train_switch_options(train_settings *s, option *o)
{
    o[0] =
        option_text("switch", "HOST:PORT",
                    "where `tithe switch` adds, for --scheme switch (inproc: without it, one is simulated)",
                    &s->at_switch);
    o[1] = option_text("key", "FILE", "the secret of that switch", &s->key);
    return 2;
}

static bool serves(const train_settings *s)
{
    return s->role && strcmp(s->role, "server") == 0;
}

bool train_options_resume(train_settings *s)
{
    tithe_error error = {0};
    const transport_row *transport = transport_find(train_transport(s));
    if (!transport) return false;
    const bool remote = transport->begin != NULL;
    const bool stated = s->run.data || serves(s);
    const char *path = s->run.resume;
    const tithe_status status = tithe_train_options_resume(&s->run, path, &s->resumed, &error);
    if (remote) s->run.network = NULL; /* there is a real one now */
    if (!status) return true;
    /* Rank 0 alone needs the file, if all the others are told everything. */
    if (remote && stated && status == TITHE_E_FILE) return true;
    text_fail_status(NULL, status, &error);
    return false;
}

bool train_options_finish(train_settings *s)
{
    tithe_train_options *o = &s->run;
    if (!o->data && !serves(s)) {
        text_fail("Name the data: --data FILE, or a set that needs no file, such as --data w8a-like");
        return false;
    }
    if (o->every && !o->checkpoint) {
        text_fail("--every says how often, but not where to: add --checkpoint FILE");
        return false;
    }
    if (o->checkpoint && file_is_standard(o->checkpoint)) {
        text_fail("A checkpoint goes to a file, which each one replaces: name one with --checkpoint FILE");
        return false;
    }
    if (s->key && !s->at_switch) {
        text_fail("--key is the secret of a switch: say where that is with --switch HOST:PORT");
        return false;
    }
    if (s->local) o->workers = (unsigned)s->local; /* all of them are started here */
    return true;
}
