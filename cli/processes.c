/* processes.c - see processes.h. */
#include "processes.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text.h"
#include "tithe/transport.h"
#include "train_run.h"

static process_part fail_part(const char *sentence)
{
    text_fail("%s", sentence);
    return PART_FAILED;
}

static process_part part_of(const processes *p)
{
    return p->comm.first == 0 ? PART_FIRST : PART_OTHER;
}

/* ---- MPI ------------------------------------------------------------------------------------------------ */

static process_part begin_mpi(train_settings *s, processes *p)
{
#ifdef TITHE_HAS_MPI
    tithe_error error = {0};
    const tithe_status status = tithe_comm_mpi(NULL, &p->comm, &error);
    if (status) {
        text_fail_status(NULL, status, &error);
        return PART_FAILED;
    }
    p->open = true;
    p->comm.deadline = s->deadline;
    if (s->workers == 1) s->run.workers = p->comm.size; /* as many as mpirun started */
    if (s->run.workers != p->comm.size) {
        if (p->comm.first == 0)
            text_fail("--workers says %u, but mpirun started %u processes: leave --workers out",
                      s->run.workers, p->comm.size);
        return PART_FAILED;
    }
    return part_of(p);
#else
    (void)s;
    (void)p;
    return fail_part("This tithe was built without MPI: build it with -DTITHE_MPI=ON");
#endif
}

/* ---- ZeroMQ --------------------------------------------------------------------------------------------- */

#ifdef TITHE_HAS_ZMQ
static tithe_status join(const train_settings *s, const char *endpoint, bool server, processes *p,
                         tithe_error *error)
{
    const bool star = s->run.scheme ? strcmp(s->run.scheme, "star") == 0 : s->run.downlink != NULL;
    const tithe_zmq_options o = {.endpoint = endpoint,
                                 .server = server,
                                 .workers = s->run.workers,
                                 .peers = !star,
                                 .deadline = s->deadline};
    const tithe_status status = tithe_comm_zmq(&o, &p->comm, error);
    p->open = !status;
    return status;
}

static int serve(train_settings *s, const char *endpoint, processes *p)
{
    tithe_error error = {0};
    tithe_status status = join(s, endpoint, true, p, &error);
    s->run.comm = &p->comm;
    if (!status) status = tithe_train_serve(&s->run, &error);
    processes_end(p);
    return status ? text_fail_status("server", status, &error) : EXIT_DONE;
}

static process_part work(train_settings *s, const char *endpoint, processes *p)
{
    tithe_error error = {0};
    const tithe_status status = join(s, endpoint, false, p, &error);
    if (!status) return part_of(p);
    text_fail_status(NULL, status, &error);
    return PART_FAILED;
}

/* The worst of what the workers ended with. A worker that was killed counts as a failure. */
static int wait_for_workers(const pid_t *ids, size_t count, bool end_them)
{
    int worst = EXIT_DONE;
    for (size_t i = 0; i < count; i++) {
        int status;
        if (end_them) kill(ids[i], SIGTERM);
        while (waitpid(ids[i], &status, 0) < 0 && errno == EINTR) {
        }
        const int ended = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BAD;
        if (ended > worst) worst = ended;
    }
    return worst;
}

/* The server stays until its workers are done. Ctrl-C reaches them without its help; another request to end it hands on. */
static volatile sig_atomic_t worker_count;
static pid_t worker_ids[1000]; /* --local takes no more */

static void hand_on(int number)
{
    for (int i = 0; i < worker_count; i++) kill(worker_ids[i], number);
}

static void outlive_workers(const pid_t *ids, size_t count)
{
    memcpy(worker_ids, ids, count * sizeof *ids);
    worker_count = (int)count;
    struct sigaction action = {.sa_handler = SIG_IGN};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    action.sa_handler = hand_on;
    action.sa_flags = SA_RESTART | SA_RESETHAND;
    sigaction(SIGTERM, &action, NULL);
}

/* Workers are started first: ZeroMQ's threads do not survive a fork. */
static process_part begin_local(train_settings *s, processes *p)
{
    char endpoint[80];
    const char *temporary = getenv("TMPDIR");
    char path[256];
    snprintf(path, sizeof path, "%s/tithe-XXXXXX", temporary && strlen(temporary) < 200 ? temporary : "/tmp");
    if (!mkdtemp(path) || strlen(path) > 50) {
        text_fail("Cannot make a folder for the workers to meet in: %s", strerror(errno));
        return PART_FAILED;
    }
    snprintf(endpoint, sizeof endpoint, "ipc://%s/server", path);
    pid_t *ids = text_memory((size_t)s->local * sizeof *ids);
    size_t started = 0;
    for (; started < s->local; started++) {
        fflush(stdout);
        ids[started] = fork();
        if (ids[started] == 0) {
            free(ids);
            return work(s, endpoint, p);
        }
        if (ids[started] < 0) break;
    }
    train_catch_interrupt(); /* Ctrl-C reaches the workers too: they end in good order, and then the server */
    const bool all = started == s->local;
    if (!all)
        text_fail("Only %zu of %llu workers could be started: %s", started, (unsigned long long)s->local,
                  strerror(errno));
    if (all) outlive_workers(ids, started);
    const int served = all ? serve(s, endpoint, p) : EXIT_BAD;
    const int worked = wait_for_workers(ids, started, !all);
    p->status = worked != EXIT_DONE ? worked : served;
    free(ids);
    snprintf(endpoint, sizeof endpoint, "%s/server", path);
    unlink(endpoint);
    rmdir(path);
    return PART_SERVED;
}
#endif

static process_part begin_zmq(train_settings *s, processes *p)
{
#ifdef TITHE_HAS_ZMQ
    if (s->local) {
        s->run.workers = (unsigned)s->local;
        return begin_local(s, p);
    }
    if (s->role && strcmp(s->role, "server") == 0) {
        if (!s->listen) return fail_part("A server needs --listen, such as --listen tcp://*:5555");
        p->status = serve(s, s->listen, p);
        return PART_SERVED;
    }
    if (s->role && strcmp(s->role, "worker") == 0) {
        if (!s->connect) return fail_part("A worker needs --connect, such as --connect tcp://10.0.0.1:5555");
        return work(s, s->connect, p);
    }
    return fail_part(
        "With --transport zmq say --local N to start all here, or --role server --listen ENDPOINT, or --role "
        "worker --connect ENDPOINT");
#else
    (void)s;
    (void)p;
    return fail_part("This tithe was built without ZeroMQ: build it with -DTITHE_ZMQ=ON");
#endif
}

process_part processes_begin(train_settings *s, processes *p)
{
    *p = (processes){.status = EXIT_BAD};
    process_part part = PART_ALL;
    if (strcmp(s->transport, "mpi") == 0)
        part = begin_mpi(s, p);
    else if (strcmp(s->transport, "zmq") == 0)
        part = begin_zmq(s, p);
    else if (strcmp(s->transport, "inproc") != 0) {
        text_fail("--transport takes inproc, mpi or zmq, not '%s'", s->transport);
        part = PART_FAILED;
    }
    if (part == PART_FIRST || part == PART_OTHER) {
        s->run.comm = &p->comm;
        if (!s->run.threads) s->run.threads = 1; /* the other cores are for the other processes */
    }
    return part;
}

void processes_end(processes *p)
{
    if (p->open) tithe_comm_close(&p->comm);
    p->open = false;
}
