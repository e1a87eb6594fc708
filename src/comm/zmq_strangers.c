/* zmq_strangers.c - see zmq_strangers.h. */
#include "comm/zmq_strangers.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#ifdef __linux__
#include <linux/tcp.h>
#include <netinet/in.h>
#endif

typedef struct connection {
    int file;
    bool known;
    struct sockaddr_storage
        peer; /* whose it was when it came: the number may be given to another file later */
} connection;

struct strangers {
    pthread_mutex_t lock;
    connection *all;
    size_t count, room;
};

strangers *ti_strangers_open(void)
{
    strangers *s = calloc(1, sizeof *s);
    if (s) pthread_mutex_init(&s->lock, NULL);
    return s;
}

void ti_strangers_close(strangers *s)
{
    if (!s) return;
    pthread_mutex_destroy(&s->lock);
    free(s->all);
    free(s);
}

/* ---- a connection ---------------------------------------------------------------------------------------- */

static void peer_of(int file, struct sockaddr_storage *peer)
{
    socklen_t length = sizeof *peer;
    memset(peer, 0, sizeof *peer);
    getpeername(file, (struct sockaddr *)peer, &length);
}

static bool is_still_there(const connection *one)
{
    struct sockaddr_storage now;
    peer_of(one->file, &now);
    return memcmp(&now, &one->peer, sizeof now) == 0;
}

/* Its other end is told at once, and what it still wanted to say is nobody's any more. ZeroMQ closes the file. */
static void cut_off(int file)
{
    const struct linger now = {.l_onoff = 1};
    setsockopt(file, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    shutdown(file, SHUT_RDWR);
}

/* What has come so far. Over ipc:// and on other systems nobody counts it. */
static uint64_t received(int file)
{
#ifdef __linux__
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    if (getsockopt(file, IPPROTO_TCP, TCP_INFO, &info, &length) == 0) return info.tcpi_bytes_received;
#endif
    (void)file;
    return 0;
}

/* ---- the list -------------------------------------------------------------------------------------------- */

static connection *find(const strangers *s, int file)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->all[i].file == file) return &s->all[i];
    return NULL;
}

/* NULL: no memory. */
static connection *find_or_add(strangers *s, int file)
{
    connection *found = find(s, file);
    if (found) return found;
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 16;
        connection *more = realloc(s->all, room * sizeof *more);
        if (!more) return NULL;
        s->all = more;
        s->room = room;
    }
    s->all[s->count] = (connection){.file = file};
    return &s->all[s->count++];
}

void ti_strangers_come(strangers *s, int file)
{
    pthread_mutex_lock(&s->lock);
    connection *one = find_or_add(s, file);
    if (!one) {
        cut_off(file);                 /* who cannot be watched cannot stay */
    } else if (!is_still_there(one)) { /* the number was another's */
        one->known = false;
        peer_of(file, &one->peer);
    }
    pthread_mutex_unlock(&s->lock);
}

void ti_strangers_go(strangers *s, int file)
{
    pthread_mutex_lock(&s->lock);
    connection *one = find(s, file);
    if (one) *one = s->all[--s->count];
    pthread_mutex_unlock(&s->lock);
}

/* That it has come may be heard of later. */
void ti_strangers_know(strangers *s, int file)
{
    pthread_mutex_lock(&s->lock);
    connection *one = find_or_add(s, file);
    if (one) {
        one->known = true;
        peer_of(file, &one->peer);
    }
    pthread_mutex_unlock(&s->lock);
}

bool ti_strangers_watch(strangers *s)
{
    bool some = false;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->count; i++) {
        const connection *one = &s->all[i];
        if (one->known) continue;
        some = true;
        if (received(one->file) > STRANGERS_MAX_BYTES && is_still_there(one)) cut_off(one->file);
    }
    pthread_mutex_unlock(&s->lock);
    return some;
}
