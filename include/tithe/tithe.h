/* tithe.h - everything in libtithe. Tithe makes distributed learning cheap to communicate.
 *
 *   codec.h     a gradient to packed bytes and back     (start here)
 *   feedback.h  keep what was not sent
 *   exchange.h  gradients in, one update out: what stands in place of an all-reduce
 *   outer.h     local steps: exchange what models have moved, now and then
 *   comm.h      the ranks, and how messages travel between them
 *   coll.h      ring, tree, star, direct
 *   cost.h      what a message costs
 *   tuner.h     how much to send now
 *   link.h      what a link does to a message; probe.h measures it, link_estimate.h follows it in a running job
 *   rounds.h    what a step takes on a network: rounds of messages
 *   plan.h      what a step will cost on a link, and whether compression pays
 *   serve.h     the server of a group over ZeroMQ
 *   options.h   options as text and as a table
 *   pool.h      threads for large vectors
 *   coder.h     a codec in one handle, for languages that cannot write structs
 *   frame.h     read a frame from a file or a stranger
 *   variant.h   bring your own selector or quantizer
 *   status.h    what can go wrong
 *
 * What is in a library of its own has to be included by name:
 *
 *   check.h, bench.h      libtithe_measure: what a codec claims, and how fast it is here
 *   transport.h           libtithe_mpi, libtithe_zmq: ranks in several processes
 *   switch.h              libtithe_switch: a switch that adds what passes, and the way to it
 *   data.h, model.h, learn.h, trace.h     libtithe_learn: the trainer
 *
 * No global state, no init call, no allocation inside a step; the library never exits, aborts or prints. */
#ifndef TITHE_H
#define TITHE_H

#include "tithe/codec.h"
#include "tithe/coder.h"
#include "tithe/coll.h"
#include "tithe/comm.h"
#include "tithe/cost.h"
#include "tithe/exchange.h"
#include "tithe/feedback.h"
#include "tithe/frame.h"
#include "tithe/link.h"
#include "tithe/link_estimate.h"
#include "tithe/options.h"
#include "tithe/outer.h"
#include "tithe/plan.h"
#include "tithe/pool.h"
#include "tithe/probe.h"
#include "tithe/rounds.h"
#include "tithe/serve.h"
#include "tithe/status.h"
#include "tithe/tuner.h"
#include "tithe/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TITHE_VERSION "0.1.0"
/* ref, avx2, avx512 or neon: what runs here (TITHE_KERNELS forces one) */
TITHE_API const char *tithe_kernels_name(void);
TITHE_API const char *tithe_version(void); /* of the library that is linked, as in TITHE_VERSION */

#ifdef __cplusplus
}
#endif
#endif
