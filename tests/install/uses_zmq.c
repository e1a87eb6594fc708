/* uses_zmq.c - a program of somebody who installed libtithe_zmq: a server and its only worker meet. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tithe/transport.h>

static int meet(const char *endpoint, bool server)
{
    const tithe_zmq_options o = {.size = sizeof o, .endpoint = endpoint, .server = server, .workers = 1};
    tithe_comm *comm = NULL;
    tithe_error error = {0};
    const tithe_status status = tithe_comm_zmq(&o, &comm, &error);
    if (status) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    if (!server) printf("a group of %u over %s\n", tithe_comm_size(comm), tithe_comm_transport(comm));
    tithe_comm_free(comm);
    return 0;
}

int main(void)
{
    char endpoint[100], folder[] = "/tmp/uses_zmq-XXXXXX";
    if (!mkdtemp(folder)) return 1;
    snprintf(endpoint, sizeof endpoint, "ipc://%s/server", folder);
    const pid_t child = fork();
    if (child == 0) return meet(endpoint, true);
    const int failed = meet(endpoint, false);
    int status = 1;
    waitpid(child, &status, 0);
    unlink(endpoint + 6);
    rmdir(folder);
    return failed || status ? 1 : 0;
}
