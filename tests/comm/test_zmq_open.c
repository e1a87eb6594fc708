/* test_zmq_open.c - a group over ZeroMQ from text: what is wrong gets a sentence before anybody is waited for, and what is
 * right makes a server and its workers. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "tithe/transport.h"

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word, *other; /* that the sentence has */
    } wrong[] = {{"", "listen", "connect"},
                 {"workers=3", "listen", "connect"},
                 {"listen=tcp://127.0.0.1:5555;connect=tcp://127.0.0.1:5555;workers=3", "Both", "connect"},
                 {"listen=tcp://127.0.0.1:5555", "workers", "workers=3"},
                 {"connect=tcp://127.0.0.1:5555;peers=no", "workers", "workers=3"},
                 {"connect=tcp://127.0.0.1:5555;workers=0", "workers", "'0'"},
                 {"connect=tcp://127.0.0.1:5555;workers=1024", "workers", "1,023"},
                 {"connect=tcp://127.0.0.1:5555;workers=-1", "workers", "'-1'"},
                 {"connect=tcp://127.0.0.1:5555;workers=3x", "workers", "'3x'"},
                 {"connect=tcp://127.0.0.1:5555;workers=", "workers", "empty"},
                 {"connect=tcp://127.0.0.1:5555;workers", "workers", "empty"},
                 {"connect=;workers=3", "connect", "empty"},
                 {"connect=tcp://127.0.0.1:5555;workers=3;peers=some", "peers", "yes|no"},
                 {"connect=tcp://127.0.0.1:5555;workers=3;timeout=0", "timeout", "'0'"},
                 {"connect=tcp://127.0.0.1:5555;workers=3;timeout=soon", "timeout", "'soon'"},
                 {"connect=tcp://127.0.0.1:5555;worker=3", "'worker'", "workers, peers, timeout, rank"},
                 {"tcp://127.0.0.1:5555;workers=3", "'tcp://127", "listen"},
                 {"connect=127.0.0.1:5555;workers=3", "127.0.0.1:5555", "tcp://"},
                 {"listen=pigeon://roof;workers=3", "pigeon://roof", "ipc://"},
                 {"connect=tcp://127.0.0.1:5555;workers=3;rank=3", "rank", "below 3"},
                 {"connect=tcp://127.0.0.1:5555;workers=3;rank=-1", "rank", "'-1'"},
                 {"listen=tcp://127.0.0.1:5555;workers=3;rank=0", "rank", "server"},
                 {"connect=tcp://127.0.0.1:5555;workers=3;file=7", "file", "server"}};
    tithe_comm *comm = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tithe_error error = {0};
        expect(tithe_comm_zmq_open(wrong[i].text, &comm, &error) != TITHE_OK, "%s is taken", wrong[i].text);
        expect(strstr(error.text, wrong[i].word) && strstr(error.text, wrong[i].other), "%s: %s",
               wrong[i].text, error.text);
        expect(error.text[strlen(error.text) - 1] == '.', "%s: no whole sentence: %s", wrong[i].text,
               error.text);
        expect(tithe_comm_zmq_open(wrong[i].text, &comm, NULL) != TITHE_OK, "%s is taken", wrong[i].text);
        assert_null(comm);
    }
    tithe_error error = {0};
    assert_int_equal(tithe_comm_zmq_open(NULL, &comm, &error), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_comm_zmq_open("listen=tcp://127.0.0.1:5555;workers=1", NULL, &error),
                     TITHE_E_ARGUMENT);
}

/* ---- a server and its workers: processes that tell by a pipe how they fared ---------------------------------------- */

enum { WORKERS = 2, N = 6 };

typedef struct answer {
    unsigned started; /* the server is number 0 */
    bool serves;
    tithe_status status;
    tithe_error error;
    unsigned rank, size;
    float update[N];
} answer;

static tithe_status work(tithe_comm *comm, answer *a)
{
    tithe_exchange *ex = NULL;
    tithe_status status = tithe_exchange_open(comm, "", N, &ex, &a->error);
    for (unsigned i = 0; i < N; i++) a->update[i] = (float)(a->rank + i);
    if (!status) status = tithe_exchange_step(ex, a->update, WORKERS, &a->error);
    if (status) tithe_comm_give_up(comm, a->error.text);
    tithe_exchange_free(ex);
    return status;
}

static answer run(const char *text)
{
    answer a = {.size = 0};
    tithe_comm *comm = NULL;
    a.status = tithe_comm_zmq_open(text, &comm, &a.error);
    if (a.status) return a;
    a.serves = tithe_comm_local_ranks(comm) == 0;
    a.rank = tithe_comm_rank(comm);
    a.size = tithe_comm_size(comm);
    a.status = a.serves ? tithe_serve(comm, &a.error) : work(comm, &a);
    tithe_comm_free(comm);
    return a;
}

/* Answers by rank, which is that of arrival unless they `want` theirs, in the reverse order of their start; the server's is
 * the last. */
static void run_all(answer *all, const char *more, bool want)
{
    char folder[] = "/tmp/zmq_open-XXXXXX", path[64];
    pid_t children[WORKERS + 1];
    int ends[2];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "%s/server", folder);
    for (unsigned r = 0; r <= WORKERS; r++) {
        char text[160];
        int used = snprintf(text, sizeof text, "%s=ipc://%s;workers=%d;timeout=600%s",
                            r ? "connect" : "listen", path, WORKERS, more);
        if (r && want) snprintf(text + used, sizeof text - (size_t)used, ";rank=%u", WORKERS - r);
        children[r] = fork();
        if (children[r]) continue;
        answer a = run(text);
        a.started = r;
        _exit(write(ends[1], &a, sizeof a) != sizeof a);
    }
    for (unsigned r = 0; r <= WORKERS; r++) {
        answer a;
        assert_int_equal(read(ends[0], &a, sizeof a), sizeof a);
        expect(a.size == WORKERS && a.rank <= WORKERS, "%s: %s", more, a.error.text);
        all[a.rank] = a;
    }
    close(ends[0]);
    close(ends[1]);
    for (unsigned r = 0; r <= WORKERS; r++) { /* where a worker listened for the others, it leaves a file */
        char own[80];
        snprintf(own, sizeof own, "%s-%ld", path, (long)children[r]);
        waitpid(children[r], NULL, 0);
        unlink(own);
    }
    unlink(path);
    expect(rmdir(folder) == 0, "something is left in %s", folder);
}

static void listen_makes_the_server(void **state)
{
    (void)state;
    static const char *const more[] = {"", ";peers=yes"};
    for (size_t m = 0; m < sizeof more / sizeof *more; m++) {
        answer all[WORKERS + 1] = {{0}};
        run_all(all, more[m], false);
        for (unsigned r = 0; r <= WORKERS; r++) {
            expect(all[r].status == TITHE_OK, "%s: %s", more[m], all[r].error.text);
            assert_int_equal(all[r].serves, r == WORKERS);
            assert_int_equal(all[r].rank, r);
        }
        for (unsigned r = 0; r < WORKERS; r++)
            for (unsigned i = 0; i < N; i++) assert_true(all[r].update[i] == (float)(1 + 2 * i));
    }
}

/* Dense vectors go around a ring, for which the workers would have to know each other. */
static void without_peers_workers_know_the_server_alone(void **state)
{
    (void)state;
    answer all[WORKERS + 1] = {{0}};
    run_all(all, ";peers=no", false);
    for (unsigned r = 0; r <= WORKERS; r++) {
        assert_int_equal(all[r].status, TITHE_E_PEER);
        expect(strstr(all[r].error.text, "no connection to rank") != NULL, "%s", all[r].error.text);
    }
}

/* Whoever wants a rank gets it, whenever it comes. */
static void wanted_ranks_are_given(void **state)
{
    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        answer all[WORKERS + 1] = {{0}};
        run_all(all, "", true);
        for (unsigned r = 0; r < WORKERS; r++) {
            expect(all[r].status == TITHE_OK, "%s", all[r].error.text);
            assert_int_equal(all[r].started, WORKERS - r);
            for (unsigned i = 0; i < N; i++) assert_true(all[r].update[i] == (float)(1 + 2 * i));
        }
    }
}

/* Of two that want the same rank the second is refused, and says so. */
static void a_rank_is_given_once(void **state)
{
    (void)state;
    char folder[] = "/tmp/zmq_open-XXXXXX", path[64];
    int ends[2];
    pid_t children[3];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "%s/server", folder);
    for (unsigned r = 0; r < 3; r++) {
        char text[160];
        snprintf(text, sizeof text, "%s=ipc://%s;workers=2;timeout=600%s", r ? "connect" : "listen", path,
                 r ? ";rank=1" : "");
        children[r] = fork();
        if (children[r]) continue;
        const answer a = run(text);
        _exit(write(ends[1], &a, sizeof a) != sizeof a);
    }
    answer a = {.size = 0};
    assert_int_equal(read(ends[0], &a, sizeof a), sizeof a); /* the others still wait */
    assert_int_equal(a.status, TITHE_E_MISMATCH);
    expect(strstr(a.error.text, "rank 1") != NULL, "%s", a.error.text);
    for (unsigned r = 0; r < 3; r++) {
        char own[80];
        snprintf(own, sizeof own, "%s-%ld", path, (long)children[r]);
        kill(children[r], SIGKILL);
        waitpid(children[r], NULL, 0);
        unlink(own);
    }
    unlink(path);
    close(ends[0]);
    close(ends[1]);
    expect(rmdir(folder) == 0, "something is left in %s", folder);
}

/* A socket that listens already, at a port that the system chose. */
static void a_server_takes_over_a_socket(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(file >= 3);
    assert_int_equal(bind(file, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(file, 8), 0);
    assert_int_equal(getsockname(file, (struct sockaddr *)&address, &length), 0);
    char text[160];
    const pid_t worker = fork();
    if (worker == 0) {
        close(file);
        snprintf(text, sizeof text, "connect=tcp://127.0.0.1:%u;workers=1;timeout=600",
                 ntohs(address.sin_port));
        const answer a = run(text);
        _exit(a.status != TITHE_OK || a.update[1] != 2); /* a mean, times WORKERS */
    }
    snprintf(text, sizeof text, "listen=tcp://127.0.0.1:%u;workers=1;timeout=600;file=%d",
             ntohs(address.sin_port), file);
    const answer a = run(text);
    int status = -1;
    waitpid(worker, &status, 0);
    expect(a.status == TITHE_OK && a.serves, "%s", a.error.text);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(listen_makes_the_server),
        cmocka_unit_test(without_peers_workers_know_the_server_alone),
        cmocka_unit_test(wanted_ranks_are_given),
        cmocka_unit_test(a_rank_is_given_once),
        cmocka_unit_test(a_server_takes_over_a_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
