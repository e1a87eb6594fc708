/* net.h - addresses and sockets of UDP. */
#ifndef SWITCH_NET_H
#define SWITCH_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "aggregate/aggregate.h"
#include "base/status.h"

typedef union net_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} net_address;

enum { NET_TEXT = 80 };

/* "host:port" or "[host]:port". */
tithe_status ti_net_resolve(const char *text, net_address *address, tithe_error *error);
void ti_net_write(const net_address *address, char text[NET_TEXT]);
bool ti_net_is_loopback(const net_address *address);

static inline socklen_t net_length(const net_address *a)
{
    return a->any.sa_family == AF_INET6 ? sizeof a->v6 : sizeof a->v4;
}

/* As the switch compares it, and back. */
agg_address ti_net_pack(const net_address *address);
net_address ti_net_unpack(const agg_address *packed);

/* A socket that is bound to the address, or connected to it, with much room for what comes. Negative: it failed. */
int ti_net_listen(const net_address *address, tithe_error *error);
int ti_net_connect(const net_address *address, tithe_error *error);
size_t ti_net_room(int socket); /* bytes that may wait in it, with what the system adds to each packet */
/* The longest datagram that goes to where the socket is connected, or from where it is bound, in one piece. */
uint32_t ti_net_datagram(int socket, const net_address *address, bool connected);

#endif
