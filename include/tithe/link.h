/* link.h - what a link does to a message: latency and bandwidth, or times that were measured.
 *
 * The one description of a link: a probe measures it, a running job estimates it (link_estimate.h), a plan, a cost and
 * the virtual clock of a run ask it how long a message takes. */
#ifndef TITHE_LINK_H
#define TITHE_LINK_H

#include "tithe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_link_point {
    double bytes, seconds; /* a message of so many bytes takes so long, one way */
} tithe_link_point;

typedef struct tithe_link {
    double latency;   /* seconds, one way; NAN: not known */
    double bandwidth; /* bytes per second that arrive; NAN: not known */
    /* Measured times of messages, ascending in both, at least two; they belong to somebody else, and go before the two
     * numbers above. NULL: latency + bytes / bandwidth (tyagi2023artopk). */
    const tithe_link_point *points;
    size_t count;
} tithe_link;

/* Seconds of one message. Between measured points a straight line; beyond the last one, and ahead of the first, the line
 * of the outermost two goes on. */
TITHE_API double tithe_link_seconds(const tithe_link *link, double bytes);

/* Latency and bandwidth from points in the order of their lengths: the median of the shortest messages, and the median
 * slope between long ones, so that a few late messages, and a bucket of bytes that passes unhindered, do no harm. At most
 * TITHE_LINK_POINTS are looked at. The bandwidth is NAN where longer messages take no longer. */
enum { TITHE_LINK_POINTS = 24 };
TITHE_API void tithe_link_fit(const tithe_link_point *points, size_t count, tithe_link *link);

#ifdef __cplusplus
}
#endif
#endif
