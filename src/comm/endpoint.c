/* endpoint.c - see endpoint.h. */
#include "comm/endpoint.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/transport_fail.h"

enum { MAX_HOST = 256, MAX_PORT = 8 };

static bool is_ipc(const char *endpoint)
{
    return strncmp(endpoint, "ipc://", 6) == 0;
}

const char *ti_endpoint_path(const char *endpoint)
{
    return is_ipc(endpoint) && endpoint[6] && endpoint[6] != '@' ? endpoint + 6 : NULL;
}

bool ti_endpoint_is_v6(const char *endpoint)
{
    return strchr(endpoint, '[') != NULL;
}

/* tcp://[::1]:5555 is host ::1 and port 5555. */
static bool split(const char *endpoint, char *host, char *port)
{
    if (strncmp(endpoint, "tcp://", 6) != 0) return false;
    const char *from = endpoint + 6, *colon = strrchr(from, ':');
    if (!colon || colon == from || strlen(colon + 1) >= MAX_PORT || !colon[1]) return false;
    size_t length = (size_t)(colon - from);
    if (from[0] == '[' && colon[-1] == ']') {
        from++;
        length -= 2;
    }
    if (length == 0 || length >= MAX_HOST) return false;
    memcpy(host, from, length);
    host[length] = 0;
    memcpy(port, colon + 1, strlen(colon + 1) + 1);
    return strcmp(port, "*") == 0 || strspn(port, "0123456789") == strlen(port);
}

tithe_status ti_endpoint_check(const char *endpoint, tithe_error *error)
{
    char host[MAX_HOST], port[MAX_PORT];
    if ((is_ipc(endpoint) && endpoint[6]) || split(endpoint, host, port)) return TITHE_OK;
    return transport_fail(
        error, TITHE_E_ARGUMENT, 0,
        "'%.100s' is no place to meet: take tcp://host:port, such as tcp://127.0.0.1:5555, or ipc://path.",
        endpoint);
}

/* From which of our addresses would something to there leave? A datagram socket knows, and sends nothing. */
static bool own_address(const struct addrinfo *there, char *host)
{
    struct sockaddr_storage mine;
    socklen_t length = sizeof mine;
    const int probe = socket(there->ai_family, SOCK_DGRAM, 0);
    const bool known =
        probe >= 0 && connect(probe, there->ai_addr, there->ai_addrlen) == 0 &&
        getsockname(probe, (struct sockaddr *)&mine, &length) == 0 &&
        getnameinfo((struct sockaddr *)&mine, length, host, MAX_HOST, NULL, 0, NI_NUMERICHOST) == 0;
    if (probe >= 0) close(probe);
    return known;
}

tithe_status ti_endpoint_beside(const char *server, char *address, size_t room, tithe_error *error)
{
    if (is_ipc(server)) {
        if ((size_t)snprintf(address, room, "%s-%ld", server, (long)getpid()) < room) return TITHE_OK;
        return transport_fail(error, TITHE_E_ARGUMENT, 0,
                              "The path '%.100s' is too long: take a shorter one.", server);
    }
    char host[MAX_HOST], port[MAX_PORT];
    if (!split(server, host, port)) return ti_endpoint_check(server, error);
    const struct addrinfo wanted = {.ai_family = ti_endpoint_is_v6(server) ? AF_INET6 : AF_INET,
                                    .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    const int failure = getaddrinfo(host, port, &wanted, &found);
    if (failure)
        return transport_fail(error, TITHE_E_PEER, 0, "The host '%.100s' is not known: %s.", host,
                              gai_strerror(failure));
    const bool known = own_address(found, host);
    freeaddrinfo(found);
    if (!known) return transport_fail(error, TITHE_E_PEER, 0, "No way leads from here to '%.100s'.", server);
    const bool v6 = strchr(host, ':') != NULL;
    snprintf(address, room, "tcp://%s%.60s%s:*", v6 ? "[" : "", host, v6 ? "]" : "");
    return TITHE_OK;
}
