/* mail.c - see mail.h. */
#define _GNU_SOURCE /* recvmmsg and sendmmsg */
#include "switch/mail.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#ifndef UDP_SEGMENT /* headers before those of Linux 4.18 and 5.0 */
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* ---- what comes ------------------------------------------------------------------------------------------------ */

enum { MESSAGES = 32, LONGEST_MESSAGE = 1 << 16 };

struct inbox {
    struct mmsghdr got[MESSAGES];
    struct iovec bytes[MESSAGES];
    net_address from[MESSAGES];
    _Alignas(struct cmsghdr) uint8_t said[MESSAGES][CMSG_SPACE(sizeof(int))];
    uint8_t *memory;
    unsigned count, at; /* messages, and which one is read */
    size_t begin, each; /* where in it, and how long its datagrams are */
};

inbox *ti_inbox_open(void)
{
    inbox *in = calloc(1, sizeof *in);
    if (!in) return NULL;
    in->memory = malloc((size_t)MESSAGES * LONGEST_MESSAGE);
    for (unsigned i = 0; in->memory && i < MESSAGES; i++)
        in->bytes[i] = (struct iovec){in->memory + (size_t)i * LONGEST_MESSAGE, LONGEST_MESSAGE};
    if (in->memory) return in;
    free(in);
    return NULL;
}

void ti_inbox_close(inbox *in)
{
    if (in) free(in->memory);
    free(in);
}

void ti_inbox_prepare(int socket)
{
    const int together = 1;
    setsockopt(socket, IPPROTO_UDP, UDP_GRO, &together, sizeof together);
}

int ti_inbox_receive(inbox *in, int socket, int flags)
{
    for (unsigned i = 0; i < MESSAGES; i++)
        in->got[i].msg_hdr = (struct msghdr){.msg_name = &in->from[i],
                                             .msg_namelen = sizeof in->from[i],
                                             .msg_iov = &in->bytes[i],
                                             .msg_iovlen = 1,
                                             .msg_control = in->said[i],
                                             .msg_controllen = sizeof in->said[i]};
    const int count = recvmmsg(socket, in->got, MESSAGES, flags, NULL);
    in->count = count > 0 ? (unsigned)count : 0;
    in->at = 0;
    in->begin = 0;
    return count;
}

/* How long the datagrams of a message are, all but the last; 0: it is one. */
static size_t length_of_each(struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
        if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
            int each;
            memcpy(&each, CMSG_DATA(c), sizeof each);
            return each > 0 ? (size_t)each : 0;
        }
    return 0;
}

bool ti_inbox_next(inbox *in, mail_item *d)
{
    if (in->at == in->count) return false;
    struct mmsghdr *m = &in->got[in->at];
    if (in->begin == 0) in->each = length_of_each(&m->msg_hdr);
    const size_t left = m->msg_len - in->begin, length = in->each && in->each < left ? in->each : left;
    *d = (mail_item){.bytes = (const uint8_t *)in->bytes[in->at].iov_base + in->begin,
                     .length = length,
                     .from = &in->from[in->at]};
    in->begin += length;
    if (in->begin >= m->msg_len) {
        in->at++;
        in->begin = 0;
    }
    return true;
}

/* ---- what goes --------------------------------------------------------------------------------------------------- */

enum {
    SENDS = 256,         /* messages of one call */
    TOGETHER = 64,       /* datagrams of a letter: what every system takes, */
    LETTER_BYTES = 65487 /* and what a message of IPv6 holds */
};

typedef struct letter {
    unsigned first, pieces, datagrams;
    size_t each, bytes;
    _Alignas(struct cmsghdr) uint8_t cut[CMSG_SPACE(sizeof(uint16_t))]; /* how the system is to cut it */
} letter;

struct outbox {
    struct mmsghdr go[SENDS];
    net_address to[SENDS];
    struct iovec pieces[MAIL_DATAGRAMS * MAIL_PIECES];
    letter letters[MAIL_DATAGRAMS];
    unsigned sends, datagrams, piece_count, letter_count;
    bool whole; /* datagrams go one by one */
};

outbox *ti_outbox_open(void)
{
    return calloc(1, sizeof(outbox));
}

void ti_outbox_close(outbox *out)
{
    free(out);
}

void ti_outbox_leave_whole(outbox *out)
{
    out->whole = true;
}

bool ti_outbox_is_full(const outbox *out)
{
    return out->datagrams == MAIL_DATAGRAMS;
}

unsigned ti_outbox_letters(const outbox *out)
{
    return out->letter_count;
}

/* All datagrams of a letter have one length, but the last one may be shorter. */
static bool fits(const outbox *out, const letter *l, size_t length)
{
    return !out->whole && length > 0 && length <= l->each && l->bytes == l->datagrams * l->each &&
           l->datagrams < TOGETHER && l->bytes + length <= LETTER_BYTES;
}

unsigned ti_outbox_add(outbox *out, const struct iovec *pieces, unsigned count, bool same)
{
    size_t length = 0;
    letter *l = out->letter_count ? &out->letters[out->letter_count - 1] : NULL;
    for (unsigned i = 0; i < count; i++) length += pieces[i].iov_len;
    if (!l || !same || !fits(out, l, length)) {
        l = &out->letters[out->letter_count++];
        *l = (letter){.first = out->piece_count, .each = length};
    }
    for (unsigned i = 0; i < count; i++) out->pieces[out->piece_count++] = pieces[i];
    l->pieces += count;
    out->datagrams++;
    l->datagrams++;
    l->bytes += length;
    return out->letter_count - 1;
}

/* A system, or an interface, that cannot cut: then nothing is put together any more. */
static void note_failure(outbox *out, const struct mmsghdr *message, unsigned *refused)
{
    if (errno == ECONNREFUSED)
        (*refused)++;
    else if (message->msg_hdr.msg_control && (errno == EINVAL || errno == EIO || errno == ENOPROTOOPT))
        out->whole = true;
}

static unsigned send_all(outbox *out, int socket)
{
    unsigned refused = 0;
    for (unsigned first = 0; first < out->sends;) {
        const int sent = sendmmsg(socket, out->go + first, out->sends - first, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) note_failure(out, &out->go[first], &refused);
        first += sent > 0 ? (unsigned)sent : 1;
    }
    out->sends = 0;
    return refused;
}

unsigned ti_outbox_post(outbox *out, int socket, unsigned number, const net_address *to)
{
    const unsigned refused = out->sends == SENDS ? send_all(out, socket) : 0, i = out->sends++;
    letter *l = &out->letters[number];
    out->go[i].msg_hdr = (struct msghdr){.msg_iov = &out->pieces[l->first], .msg_iovlen = l->pieces};
    if (to) {
        out->to[i] = *to;
        out->go[i].msg_hdr.msg_name = &out->to[i];
        out->go[i].msg_hdr.msg_namelen = net_length(to);
    }
    if (l->datagrams > 1) {
        const uint16_t each = (uint16_t)l->each;
        struct cmsghdr *head = (void *)l->cut;
        head->cmsg_level = IPPROTO_UDP;
        head->cmsg_type = UDP_SEGMENT;
        head->cmsg_len = CMSG_LEN(sizeof each);
        memcpy(CMSG_DATA(head), &each, sizeof each);
        out->go[i].msg_hdr.msg_control = l->cut;
        out->go[i].msg_hdr.msg_controllen = sizeof l->cut;
    }
    return refused;
}

unsigned ti_outbox_flush(outbox *out, int socket)
{
    const unsigned refused = send_all(out, socket);
    out->letter_count = out->piece_count = out->datagrams = 0;
    return refused;
}
