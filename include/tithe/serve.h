/* serve.h - the process without ranks that workers over ZeroMQ gather around.
 *
 *     tithe_comm_zmq_open("listen=tcp://127.0.0.1:5555;workers=4", &comm, &error);
 *     tithe_serve(comm, &error);      // until the workers are done
 *     tithe_comm_free(comm);
 *
 * It needs no options: what the workers open (tithe_exchange_open) it opens, too, from what they agree on. It adds up what
 * they send under the scheme `star`, compares what they were started with, and sums numbers for them; the other schemes
 * need it for the last two only. It ends when the first worker frees its group. The server of a training run is
 * tithe_train_serve (learn.h). */
#ifndef TITHE_SERVE_H
#define TITHE_SERVE_H

#include "tithe/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

TITHE_API tithe_status tithe_serve(tithe_comm *comm, tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
