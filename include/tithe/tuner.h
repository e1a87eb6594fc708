/* tuner.h - how much to send now, from what the vector and the cost of a message say.
 *
 * A tuner looks at the vector that is about to be compressed and names a level: entries, lambda, or s (codec.h,
 * tithe_call.level). No tuner (NULL) is the fixed level that the codec states. */
#ifndef TITHE_TUNER_H
#define TITHE_TUNER_H

#include "tithe/cost.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_tuner_call {
    const tithe_codec *codec; /* made with open_level */
    const tithe_cost *cost;   /* NULL: bits */
    bool count_paper;         /* charge the papers' bits in place of the length of the frame */
    tithe_form form;
    const float *x;
    size_t n;
    float gamma; /* what lambda is multiplied with: 1, or the step size under error compensation */
    void *scratch;
    size_t scratch_size;
} tithe_tuner_call;

typedef struct tithe_choice {
    double level;    /* for tithe_call.level */
    double entries;  /* that will be sent, as far as it is known */
    double progress; /* share of the descent of a full gradient step that this message buys */
    double cost;     /* of the message */
    const char *reason; /* static */
} tithe_choice;

typedef struct tithe_tuner {
    const char *name, *summary, *paper;
    /* NULL, or a sentence: why it cannot tune this codec. */
    const char *(*refuse)(const tithe_codec *codec);
    size_t (*scratch)(const tithe_codec *codec, size_t n);
    tithe_status (*choose)(const tithe_tuner_call *c, tithe_choice *choice, tithe_error *error);
} tithe_tuner;

#ifdef __cplusplus
}
#endif
#endif
