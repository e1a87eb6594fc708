/* net.c - see net.h. */
#define _GNU_SOURCE /* sizes of sockets beyond what everybody may have, and interfaces */
#include "switch/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    RECEIVE_ROOM = 16 << 20, /* bytes: asked for, not always given */
    IPV4_HEAD = 28,          /* with that of UDP */
    IPV6_HEAD = 48
};

tithe_status ti_net_resolve(const char *text, net_address *address, tithe_error *error)
{
    char host[256];
    const char *colon = strrchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : 0;
    char *end = NULL;
    const unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (!length || length >= sizeof host || !colon[1] || colon[1] < '0' || colon[1] > '9' || *end ||
        port > 65535)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A switch is at HOST:PORT, such as 127.0.0.1:5555, not at '%.80s'.", text);
    snprintf(host, sizeof host, "%.*s", (int)length, text);
    if (host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = 0;
        memmove(host, host + 1, length - 1);
    }
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    const int wrong = getaddrinfo(host, colon + 1, &hints, &found);
    if (wrong)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "There is no address '%.80s' for a switch: %s.", text,
                       gai_strerror(wrong));
    memset(address, 0, sizeof *address);
    memcpy(address, found->ai_addr,
           found->ai_addrlen < sizeof *address ? found->ai_addrlen : sizeof *address);
    freeaddrinfo(found);
    return TITHE_OK;
}

void ti_net_write(const net_address *a, char text[NET_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "?";
    const bool six = a->any.sa_family == AF_INET6;
    const void *at = six ? (const void *)&a->v6.sin6_addr : (const void *)&a->v4.sin_addr;
    inet_ntop(a->any.sa_family, at, host, sizeof host);
    snprintf(text, NET_TEXT, six ? "[%s]:%u" : "%s:%u", host,
             (unsigned)ntohs(six ? a->v6.sin6_port : a->v4.sin_port));
}

bool ti_net_is_loopback(const net_address *a)
{
    if (a->any.sa_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
    return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
}

agg_address ti_net_pack(const net_address *a)
{
    agg_address packed = {{0}};
    if (a->any.sa_family == AF_INET6) {
        packed.words[0] = (uint64_t)AF_INET6 << 16 | a->v6.sin6_port | (uint64_t)a->v6.sin6_scope_id << 32;
        memcpy(&packed.words[1], &a->v6.sin6_addr, 16);
    } else {
        packed.words[0] = (uint64_t)AF_INET << 16 | a->v4.sin_port;
        packed.words[1] = a->v4.sin_addr.s_addr;
    }
    return packed;
}

net_address ti_net_unpack(const agg_address *packed)
{
    net_address a;
    memset(&a, 0, sizeof a);
    if ((packed->words[0] >> 16 & 0xffff) == AF_INET6) {
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_port = (in_port_t)packed->words[0];
        a.v6.sin6_scope_id = (uint32_t)(packed->words[0] >> 32);
        memcpy(&a.v6.sin6_addr, &packed->words[1], 16);
    } else {
        a.v4.sin_family = AF_INET;
        a.v4.sin_port = (in_port_t)packed->words[0];
        a.v4.sin_addr.s_addr = (in_addr_t)packed->words[1];
    }
    return a;
}

/* ---- sockets ------------------------------------------------------------------------------------------------ */

static int open_socket(const net_address *a, tithe_error *error)
{
    const int made = socket(a->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (made < 0) {
        ti_fail(error, TITHE_E_FILE, 0, "There is no socket to be had: %s.", strerror(errno));
        return -1;
    }
    const int room = RECEIVE_ROOM;
    if (setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room)) /* root may have it all */
        setsockopt(made, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (setsockopt(made, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room))
        setsockopt(made, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    /* a packet that is too long for the way is not cut up, but said to be */
    const int whole = IP_PMTUDISC_DO, whole_six = IPV6_PMTUDISC_DO;
    if (a->any.sa_family == AF_INET6)
        setsockopt(made, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &whole_six, sizeof whole_six);
    else
        setsockopt(made, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole);
    return made;
}

int ti_net_listen(const net_address *a, tithe_error *error)
{
    char text[NET_TEXT];
    const int made = open_socket(a, error);
    if (made < 0 || bind(made, &a->any, net_length(a)) == 0) return made;
    ti_net_write(a, text);
    ti_fail(error, TITHE_E_FILE, 0, "Nobody can listen at %s: %s.", text, strerror(errno));
    close(made);
    return -1;
}

int ti_net_connect(const net_address *a, tithe_error *error)
{
    char text[NET_TEXT];
    const int made = open_socket(a, error);
    if (made < 0 || connect(made, &a->any, net_length(a)) == 0) return made;
    ti_net_write(a, text);
    ti_fail(error, TITHE_E_FILE, 0, "There is no way to the switch at %s: %s.", text, strerror(errno));
    close(made);
    return -1;
}

size_t ti_net_room(int of)
{
    int room = 0;
    socklen_t length = sizeof room;
    if (getsockopt(of, SOL_SOCKET, SO_RCVBUF, &room, &length) || room < 0) return 0;
    return (size_t)room;
}

/* Of the interface that has this address; 0: none has. */
static int mtu_of_interface(int socket_of_any_kind, const net_address *a)
{
    struct ifaddrs *all = NULL;
    int mtu = 0;
    if (getifaddrs(&all)) return 0;
    for (const struct ifaddrs *i = all; i && !mtu; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != a->any.sa_family) continue;
        const net_address *own = (const void *)i->ifa_addr;
        const bool same = a->any.sa_family == AF_INET6 ? memcmp(&own->v6.sin6_addr, &a->v6.sin6_addr, 16) == 0
                                                       : own->v4.sin_addr.s_addr == a->v4.sin_addr.s_addr;
        struct ifreq request = {0};
        snprintf(request.ifr_name, sizeof request.ifr_name, "%s", i->ifa_name);
        if (same && ioctl(socket_of_any_kind, SIOCGIFMTU, &request) == 0) mtu = request.ifr_mtu;
    }
    freeifaddrs(all);
    return mtu;
}

uint32_t ti_net_datagram(int of, const net_address *a, bool connected)
{
    const bool six = a->any.sa_family == AF_INET6;
    int mtu = 0;
    socklen_t length = sizeof mtu;
    if (!connected || getsockopt(of, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_MTU : IP_MTU, &mtu, &length))
        mtu = mtu_of_interface(of, a);
    const int head = six ? IPV6_HEAD : IPV4_HEAD;
    if (mtu <= head + 60) return PACKET_LONGEST; /* all interfaces: the workers know the way */
    return mtu - head < PACKET_LONGEST ? (uint32_t)(mtu - head) : PACKET_LONGEST;
}
