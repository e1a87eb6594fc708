/* mail.h - many datagrams with each call of the system. Those of one length to one place are handed over as one long message, which
 * the system cuts (UDP_SEGMENT), and what it has put together again comes as one (UDP_GRO): what travels are datagrams as ever. Where a
 * system does not know that, each goes by itself. */
#ifndef SWITCH_MAIL_H
#define SWITCH_MAIL_H

#include "switch/net.h"

/* ---- what comes ------------------------------------------------------------------------------------------------ */

typedef struct inbox inbox;
inbox *ti_inbox_open(void); /* NULL: there is no memory */
void ti_inbox_close(inbox *in);
/* From now on the socket gives what belongs together as one. */
void ti_inbox_prepare(int socket);
/* As recvmmsg: messages that came, or negative. */
int ti_inbox_receive(inbox *in, int socket, int flags);

/* A datagram. */
typedef struct mail_item {
    const uint8_t *bytes;
    size_t length;
    const net_address *from;
} mail_item;
/* One after the other; false: that were all. */
bool ti_inbox_next(inbox *in, mail_item *d);

/* ---- what goes --------------------------------------------------------------------------------------------------- */

enum {
    MAIL_DATAGRAMS = 256, /* that an outbox holds, */
    MAIL_PIECES = 2       /* each of so many pieces at most */
};

typedef struct outbox outbox;
outbox *ti_outbox_open(void);
void ti_outbox_close(outbox *out);
void ti_outbox_leave_whole(outbox *out); /* nothing is put together any more */
/* Bytes that stay where they are until they are sent. `same`: it goes where the last one does. Returns the number of the letter it is in:
 * datagrams that can go together. */
unsigned ti_outbox_add(outbox *out, const struct iovec *pieces, unsigned count, bool same);
bool ti_outbox_is_full(const outbox *out);
unsigned ti_outbox_letters(const outbox *out);
/* A letter goes to this address; NULL: where the socket is connected. One that cannot be sent is lost, as it may be on its way. Returns
 * how many messages were refused because nobody listens there. */
unsigned ti_outbox_post(outbox *out, int socket, unsigned letter, const net_address *to);
/* All that is posted is sent, and the outbox is empty. */
unsigned ti_outbox_flush(outbox *out, int socket);

#endif
