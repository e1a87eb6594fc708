/* artopk.h - what scheme_artopk.c and artopk_values.c know of each other. */
#ifndef EXCHANGE_ARTOPK_H
#define EXCHANGE_ARTOPK_H

#include "exchange/exchange.h"
#include "exchange/leader.h"

typedef struct artopk {
    leader_state leader;
    const tithe_leader *rule; /* of this step */
    unsigned who;             /* leads */
    uint32_t *indices;        /* the leader's; room for 16 more than `room` */
    size_t count, room;       /* how many there are, and can be */
    float **values;           /* of each local rank, at these indices */
    size_t index_bytes;       /* of the leader's frame */
    tithe_codec *given;       /* given|raw: what a rank has to say once the indices are known */
    uint8_t *stats;           /* of all ranks, for a gather: energy selected, energy in all */
    double *energies;
    size_t *selected; /* of each local rank: bytes of its index frame */
    /* values that are not raw */
    tithe_codec *part; /* all|natural or all|f16; NULL: raw */
    uint8_t *frames;   /* of all parts */
    size_t frame_room; /* of one */
} artopk;

/* Room for the values (artopk_values.c). */
tithe_status ti_artopk_open_values(tithe_exchange *ex, artopk *a, tithe_error *error);
/* The longest frame of an owner, of so many values that are not raw. */
double ti_artopk_part_length(const tithe_codec *codec, size_t count, unsigned ranks);
/* Take the values of all local ranks at the indices, and clear what is kept there. Of one that refuses they are NaN. */
void ti_artopk_take(tithe_exchange *ex, artopk *a);
/* a->values becomes the sum of all ranks, or what its owners could say of it; the rest stays with them. Or somebody refuses. */
tithe_status ti_artopk_sum(tithe_exchange *ex, artopk *a, tithe_error *error);

#endif
