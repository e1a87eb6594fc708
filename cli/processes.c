/* processes.c - see processes.h. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "json.h"
#include "switches.h"
#include "text.h"
#include "train_run.h"

static process_part fail_part(const char *sentence)
{
    text_fail("%s", sentence);
    return PART_FAILED;
}

static process_part part_of(const processes *p)
{
    return tithe_comm_rank(p->comm) == 0 ? PART_FIRST : PART_OTHER;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- MPI ------------------------------------------------------------------------------------------------ */

process_part processes_begin_mpi(const transport_row *t, train_settings *s, processes *p)
{
    tithe_error error = {0};
    transport_open_mpi *open;
    if (!transport_load(t, &open)) return PART_FAILED;
    const tithe_status status = open(NULL, &p->comm, &error);
    if (status) {
        text_fail_status(NULL, status, &error);
        return PART_FAILED;
    }
    tithe_comm_set_timeout(p->comm, s->deadline);
    if (s->run.workers == 1) s->run.workers = tithe_comm_size(p->comm); /* as many as mpirun started */
    return part_of(p);
}

/* ---- ZeroMQ --------------------------------------------------------------------------------------------- */

/* A server has nothing to bring to an orderly end, nor has a worker before its run has begun: they stop waiting. */
static bool end_is_wanted(void *context)
{
    const processes *p = context;
    return p->waits_can_stop && train_interrupts() > 0;
}

/* Do workers talk to the server only? Its scheme has a way back; without a name, it is taken for --downlink. */
static bool by_server(const tithe_train_options *o)
{
    const tithe_scheme *scheme = NULL;
    const bool named = o->scheme && tithe_scheme_find(o->scheme, &scheme, NULL, NULL) == TITHE_OK;
    return named ? scheme->served : o->downlink != NULL;
}

static tithe_status join(const train_settings *s, const char *endpoint, bool server, processes *p,
                         tithe_error *error)
{
    const tithe_zmq_options o = {.size = sizeof o,
                                 .endpoint = endpoint,
                                 .server = server,
                                 .workers = s->run.workers,
                                 .peers = !by_server(&s->run),
                                 .timeout = s->deadline,
                                 .stop = end_is_wanted,
                                 .stop_context = p};
    return p->open_zmq(&o, &p->comm, error);
}

/* What a server knows of a run: the rest is the first worker's to tell. */
static bool tell_of_server(const char *json, const processes *p, double seconds, bool stopped)
{
    cJSON *facts = json_object();
    json_text(facts, "role", "server");
    json_text(facts, "transport", tithe_comm_transport(p->comm));
    json_count(facts, "workers", tithe_comm_size(p->comm));
    json_count(facts, "sent_bytes", tithe_comm_sent_bytes(p->comm));
    json_count(facts, "messages", tithe_comm_sent_messages(p->comm));
    json_number(facts, "seconds", seconds);
    json_bool(facts, "stopped", stopped);
    return json_write(json, facts);
}

/* `json` NULL: a server among others here, which says nothing. */
static int serve(train_settings *s, const char *endpoint, const char *json, processes *p)
{
    tithe_error error = {0};
    tithe_status status = join(s, endpoint, true, p, &error);
    const double start = now();
    s->run.comm = p->comm;
    if (!status) status = tithe_train_serve(&s->run, &error);
    int answer = status ? text_fail_status("server", status, &error) : EXIT_DONE;
    const bool stopped = status && train_interrupts();
    if (json && p->comm && (!status || stopped) && !tell_of_server(json, p, now() - start, stopped))
        answer = EXIT_BAD;
    processes_end(p);
    return answer;
}

static process_part work(train_settings *s, const char *endpoint, processes *p)
{
    tithe_error error = {0};
    const tithe_status status = join(s, endpoint, false, p, &error);
    p->waits_can_stop = true;
    if (!status) return part_of(p);
    text_fail_status(NULL, status, &error);
    return PART_FAILED;
}

/* ---- all roles here: this process starts the others, and sees to it that none is left ---------------------- */

enum {
    PATIENCE = 30, /* seconds to come to an orderly end, after Ctrl-C: as long as one wait may take */
    LAST_WORDS = 3 /* and after one of them failed, which they all know by then */
};

typedef struct child {
    pid_t id; /* 0: it has ended */
    bool server;
} child;

typedef struct family {
    child *children;
    size_t count, left;
    int worst;      /* exit status */
    double kill_at; /* INFINITY: let them run */
} family;

/* However many signals come meanwhile. */
static void pause_for(double seconds)
{
    const double until = now() + seconds;
    while (now() < until) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* To all, or to the workers alone: with them the server ends by itself. */
static void tell(const family *f, int number, bool server_too)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->children[i].id && (server_too || !f->children[i].server)) kill(f->children[i].id, number);
}

/* One of the children has ended. */
static void note_child(family *f, pid_t id, int status)
{
    size_t i = 0;
    while (i < f->count && f->children[i].id != id) i++;
    if (i == f->count) return;
    f->children[i].id = 0;
    f->left--;
    const bool ended = WIFEXITED(status);
    const int with = ended ? WEXITSTATUS(status) : EXIT_BAD;
    if (with == EXIT_BAD || (with > f->worst && f->worst != EXIT_BAD)) f->worst = with;
    if (!ended && isinf(f->kill_at)) {
        text_fail("The %s %ld was killed by signal %d, so the others are ended too",
                  f->children[i].server ? "server" : "worker", (long)id, WTERMSIG(status));
        tell(f, SIGTERM, true);
    }
    /* Also where Ctrl-C has been answered already: those who are left would wait for this one. */
    if (with == EXIT_BAD) f->kill_at = fmin(f->kill_at, now() + (ended ? LAST_WORDS : 0.5));
}

/* Until all have ended, one way or another. */
static int wait_for_all(family *f)
{
    int answered = 0;
    bool again = false;
    while (f->left) {
        int status;
        const pid_t id = waitpid(-1, &status, WNOHANG);
        if (id > 0) {
            note_child(f, id, status);
            continue;
        }
        if (train_interrupts() > answered) {
            tell(f, SIGTERM, false); /* from a terminal they have got theirs already */
            again = answered > 0;
            f->kill_at = now() + (again ? 0 : PATIENCE);
            if (!again)
                pause_for(0.05); /* what comes right after the first is no second one: timeout sends two */
            answered = train_interrupts();
        }
        if (now() >= f->kill_at) {
            if (f->worst != EXIT_BAD && again)
                text_fail("It was stopped once more while it was stopping: all were ended");
            else if (f->worst != EXIT_BAD && answered)
                text_fail("It took more than %d seconds to stop: all were ended", PATIENCE);
            f->worst = EXIT_BAD;
            tell(f, SIGKILL, true);
        }
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return f->worst;
}

/* Sockets of those who were killed are still there. */
static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.') unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder) closedir(folder);
    rmdir(path);
}

static const char folder_name[] = "tithe-XXXXXX";

/* The processes of a run hold a lock on their folder; the system lets go of it when the last of them is gone. -1: somebody
 * has it, or the folder is not ours. */
static int lock_folder(const char *path)
{
    struct stat held, there;
    const int file = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return -1;
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &held) == 0 && lstat(path, &there) == 0 &&
        held.st_ino == there.st_ino && held.st_uid == geteuid())
        return file;
    close(file);
    return -1;
}

/* Sockets and nothing else, as a run leaves them. */
static bool has_only_sockets(const char *path)
{
    DIR *folder = opendir(path);
    bool only = folder != NULL;
    struct stat about;
    for (const struct dirent *entry; only && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            only = fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISSOCK(about.st_mode);
    if (folder) closedir(folder);
    return only;
}

/* Take away what runs that were killed have left. */
static void sweep_folders(const char *temporary)
{
    DIR *all = opendir(temporary);
    for (const struct dirent *entry; all && (entry = readdir(all));) {
        char path[64];
        if (strlen(entry->d_name) != strlen(folder_name) || strncmp(entry->d_name, folder_name, 6) != 0)
            continue;
        snprintf(path, sizeof path, "%.40s/%.20s", temporary, entry->d_name);
        const int lock = lock_folder(path);
        if (lock < 0) continue;
        if (has_only_sockets(path)) remove_folder(path);
        close(lock);
    }
    if (all) closedir(all);
}

/* *lock stays open as long as somebody uses the folder. */
static bool make_folder(char *path, size_t room, int *lock)
{
    const char *temporary = getenv("TMPDIR");
    if (!temporary || strlen(temporary) > 30) temporary = "/tmp";
    sweep_folders(temporary);
    *lock = -1;
    for (int tries = 0; tries < 3 && *lock < 0; tries++) { /* another run may sweep between the two calls */
        snprintf(path, room, "%s/%s", temporary, folder_name);
        if (!mkdtemp(path)) break;
        *lock = lock_folder(path);
    }
    if (*lock >= 0) return true;
    text_fail("Cannot make a folder for the workers to meet in: %s", strerror(errno));
    return false;
}

/* A child: nobody is to be left when the parent goes. A worker goes on noting signals: a group of processes gets one from
 * the terminal and one more from the parent, and only the parent says when it is enough. What comes before the run has
 * begun ends it at its start. The server ends with the workers. */
static void be_a_child(bool server)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (!server) return;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

/* Comes back in every child, with its part, and in the parent after all have ended. */
static process_part begin_local(train_settings *s, processes *p)
{
    char path[64], endpoint[80];
    int lock;
    if (!make_folder(path, sizeof path, &lock)) return PART_FAILED;
    snprintf(endpoint, sizeof endpoint, "ipc://%s/server", path);
    family f = {.count = (size_t)s->local + 1, .kill_at = INFINITY};
    f.children = text_memory(f.count * sizeof *f.children);
    text_voice *voice = mmap(NULL, sizeof *voice, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (voice == MAP_FAILED) voice = NULL; /* then each of them speaks */
    train_catch_interrupt(true);
    fflush(stdout);
    for (size_t i = 0; i < f.count; i++) { /* the server first */
        const pid_t id = fork();
        if (id == 0) {
            free(f.children);
            text_speak_through(voice);
            be_a_child(i == 0);
            if (i > 0) return work(s, endpoint, p);
            p->status = serve(s, endpoint, NULL, p);
            return PART_SERVED;
        }
        f.children[i] = (child){.id = id > 0 ? id : 0, .server = i == 0};
        f.left += id > 0;
        if (id > 0) continue;
        text_fail("Only %zu of %llu workers could be started: %s", i ? i - 1 : i,
                  (unsigned long long)s->local, strerror(errno));
        f.count = i;
        f.worst = EXIT_BAD;
        f.kill_at = now();
    }
    p->status = train_exit(wait_for_all(&f));
    if (voice) {
        text_say(voice);
        munmap(voice, sizeof *voice);
    }
    free(f.children);
    remove_folder(path);
    close(lock);
    return PART_SERVED;
}

/* What says where others are, or what this process is to them; NULL: nothing does. */
static const char *stated_place(const train_settings *s)
{
    return s->connect ? "--connect" : s->listen ? "--listen" : s->role ? "--role" : NULL;
}

process_part processes_begin_zmq(const transport_row *t, train_settings *s, processes *p)
{
    if (!transport_load(t, &p->open_zmq)) return PART_FAILED;
    if (s->local && stated_place(s)) {
        text_fail(
            "--local starts all processes here, and %s is about others elsewhere: leave one of them out",
            stated_place(s));
        return PART_FAILED;
    }
    if (s->local) {
        s->run.workers = (unsigned)s->local;
        return begin_local(s, p);
    }
    if (s->role && strcmp(s->role, "server") == 0) {
        if (!s->listen) return fail_part("A server needs --listen, such as --listen tcp://*:5555");
        train_catch_interrupt(true);
        p->waits_can_stop = true;
        p->status = serve(s, s->listen, s->json, p);
        return PART_SERVED;
    }
    if (s->role && strcmp(s->role, "worker") == 0) {
        if (!s->connect) return fail_part("A worker needs --connect, such as --connect tcp://10.0.0.1:5555");
        train_catch_interrupt(false);
        p->waits_can_stop = true;
        return work(s, s->connect, p);
    }
    return fail_part(
        "With --transport zmq say --local N to start all here, or --role server --listen ENDPOINT, or --role "
        "worker --connect ENDPOINT");
}

/* ---- a switch ------------------------------------------------------------------------------------------- */

static bool is_interrupted(void *context)
{
    (void)context;
    return train_interrupts() > 0;
}

/* The ranks of this process reduce there. False: they cannot, and that was said. */
static bool attach_switch(train_settings *s, processes *p)
{
    switch_library library;
    tithe_error error = {0};
    const tithe_switch_options at = {
        .size = sizeof at, .address = s->at_switch, .key = s->key, .stop = is_interrupted};
    tithe_status status = TITHE_OK;
    if (!switch_load(&library)) return false;
    if (!p->comm) status = tithe_comm_local(s->run.workers, &p->comm, &error);
    if (!status) status = library.attach(p->comm, &at, &error);
    if (status) {
        text_fail_status(NULL, status, &error);
        return false;
    }
    if (s->deadline > 0) tithe_comm_set_timeout(p->comm, s->deadline);
    return true;
}

process_part processes_begin(train_settings *s, processes *p)
{
    *p = (processes){.status = EXIT_BAD};
    const transport_row *transport = transport_find(train_transport(s));
    if (!transport) return PART_FAILED;
    const process_part part = transport->begin ? transport->begin(transport, s, p) : PART_ALL;
    const bool others = part == PART_FIRST || part == PART_OTHER;
    if (s->at_switch && (others || part == PART_ALL) && !attach_switch(s, p)) {
        if (others) tithe_comm_give_up(p->comm, "A worker has no way to the switch.");
        return PART_FAILED;
    }
    if (others && !s->run.threads) s->run.threads = 1; /* the other cores are for the other processes */
    if (p->comm && part != PART_SERVED) s->run.comm = p->comm;
    return part;
}

void processes_end(processes *p)
{
    tithe_comm_free(p->comm);
    p->comm = NULL;
}
