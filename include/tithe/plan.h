/* plan.h - which scheme, collective and level is cheapest on a link, and does compression pay at all?
 *
 * A step takes the rounds that its scheme states (rounds.h), on a link (link.h). To the transfer comes what encoding and
 * decoding take on this machine, if it was measured. */
#ifndef TITHE_PLAN_H
#define TITHE_PLAN_H

#include "tithe/codec.h"
#include "tithe/link.h"
#include "tithe/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How long one value takes to look through (error compensation and the update's own pass included), one entry to send or
 * take up, and one value to be formed in a pass of its own, which AR-Top-k does before it selects; seconds. Zero: not
 * counted. */
typedef struct tithe_speed {
    double encode_value, encode_entry, decode_entry, form_value;
} tithe_speed;

/* Measured here on vectors of eight million numbers, too long for caches: takes about a second. */
TITHE_API tithe_status tithe_speed_measure(tithe_speed *speed, tithe_error *error);

/* A codec that is planned besides top-k: its spec, with its level, and seconds for each number of a vector that is encoded, with
 * the feedback that it has where none is named, or decoded. Zero: not counted. */
typedef struct tithe_plan_codec {
    const char *spec;
    double encode_value, decode_value;
} tithe_plan_codec;
/* Measures these. */
TITHE_API tithe_status tithe_speed_measure_codec(tithe_plan_codec *codec, tithe_error *error);

typedef struct tithe_plan_row {
    const char *scheme, *collective;
    const char *codec;      /* of the request; NULL: dense, or top-k with `keep` */
    double keep;            /* share of the numbers that are sent; dense: 1 */
    double rounds, bytes;   /* one after the other: transfer = rounds * latency + bytes / bandwidth */
    double codec_seconds;   /* encoding, and decoding what arrives */
    double network_seconds; /* the transfer alone */
    double seconds;         /* with the codec */
    /* Where ranks own parts and top-k is chosen over all of them, network_seconds is for entries that lie in all parts alike, and
     * this for all of a rank's in one part, the most that it can take. Elsewhere the two are the same. */
    double network_most;
    char options[256]; /* that make such a step, as for tithe_exchange_open */
} tithe_plan_row;

typedef struct tithe_plan_request {
    double params; /* numbers in a gradient */
    unsigned workers;
    tithe_link link; /* with measured points, if there are any (cost.h: tithe_link_of_cost) */
    const double *keeps;
    size_t keep_count;
    const tithe_plan_codec *codecs; /* with every scheme that takes them; what rows name is of these */
    size_t codec_count;
    /* The paper's formulas, with 4 bytes for a value and 4 for an index. Otherwise what this library does: real frames, and
     * the rounds of its own collectives, those that announce lengths included. */
    bool count_paper;
    tithe_speed speed;
    /* A codec for the schemes that take whole numbers alone (switch), which have no row otherwise; NULL: they have none. */
    const tithe_plan_codec *summed;
} tithe_plan_request;

/* How many rows there will be: one for each scheme and each collective that it runs over; those that send dense vectors
 * first, then the others for each level, those that take it for each codec, and those of `summed`. */
TITHE_API size_t tithe_plan_rows(const tithe_plan_request *request);

typedef struct tithe_plan {
    size_t winner, network_winner; /* places in rows: by seconds, and by the transfer alone */
    size_t dense;                  /* the fastest dense row */
    /* Below this many bytes per second the best compressed row beats the best dense one. 0: never; infinite: always. It is
     * that of the latency and the bandwidth of `link`, also where it has points. */
    double break_even;
} tithe_plan;

enum { TITHE_PLAN_WORKERS = 1 << 30 };
/* Fills rows (tithe_plan_rows of them). Workers from 1 to TITHE_PLAN_WORKERS; levels in (0, 1]; a link that is positive
 * and finite; codecs that state how much they send. */
TITHE_API tithe_status tithe_plan_make(const tithe_plan_request *request, tithe_plan_row *rows,
                                       tithe_plan *plan, tithe_error *error);

/* The same from text, as "params=25557032;workers=8;link=alphabeta:latency=1ms,bandwidth=100Mbit;keep=0.01": options of the
 * table below. The answer is JSON: "rows", of which "winner", "network_winner" and "dense" are three, "break_even" and "pays"; it
 * ends with tithe_text_free. */
TITHE_API tithe_status tithe_plan_ask(const char *options, char **answered, tithe_error *error);
TITHE_API const tithe_option *tithe_plan_option_table(void); /* its places are of no use outside */

#ifdef __cplusplus
}
#endif
#endif
