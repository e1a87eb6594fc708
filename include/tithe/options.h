/* options.h - options as a table: what parses, compares, saves and explains them walks it.
 *
 * An exchange (exchange.h), a group over ZeroMQ (transport.h) and a run (learn.h) have such tables; the command line, a
 * handshake, a checkpoint, and texts such as "codec=topk:keep=0.01;feedback=ec" are read by them. */
#ifndef TITHE_OPTIONS_H
#define TITHE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tithe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tithe_option_kind {
    TITHE_OPTION_TEXT,    /* const char * */
    TITHE_OPTION_WHOLE,   /* a whole number from min to max, in an unsigned type of `size` bytes */
    TITHE_OPTION_REAL,    /* double, from real_min to real_max */
    TITHE_OPTION_CHOICE,  /* one of `choices`: its place among them, in a bool or an enum */
    TITHE_OPTION_FLAG,    /* bool: given or not */
    TITHE_OPTION_CLIENTS, /* unsigned: N or N/round */
    TITHE_OPTION_BUCKET,  /* size_t: off, layer, or an amount of bytes */
    TITHE_OPTION_BYTES    /* an amount of bytes, such as 1MiB, in an unsigned type of `size` bytes */
} tithe_option_kind;

enum {
    TITHE_OPTION_AGREES = 1,     /* has to be the same in all processes */
    TITHE_OPTION_EVERYWHERE = 2, /* given to all processes or to none, each with its own value */
    TITHE_OPTION_SERVER = 4,     /* a server without ranks needs it too */
    TITHE_OPTION_SAVED = 8,      /* is in a checkpoint, from which a run that goes on takes it */
    TITHE_OPTION_CHANGES = 16,   /* and may be another one in the next part of the run */
    TITHE_OPTION_ENDS = 32,      /* says where the run ends */
    TITHE_OPTION_PARTS = 64,     /* is about a run in several parts, and not for `tithe compare` */
    TITHE_OPTION_LATER = 128     /* what it comes to is known when there is data, or an exchange */
};

typedef struct tithe_option {
    const char *name;     /* as on the command line, without dashes; NULL ends the table */
    const char *argument; /* "FILE", as --help shows it; NULL: a flag */
    const char *doc;
    const char *fallback; /* what it is when it is not given; NULL: doc says it */
    tithe_option_kind kind;
    unsigned flags;
    size_t place, size; /* in the struct of options, in bytes */
    uint64_t min, max;
    double real_min, real_max;
    const char *choices; /* "frame|paper" */
    double unset;        /* a number that stands for "not given" */
} tithe_option;

/* The place of a word in "a|b|c"; -1: it is none of them. */
TITHE_API int tithe_option_choice(const char *choices, const char *word);

/* From "key=value;key=value" into a struct of options, the one that the places of the table are in; what is not given is as
 * the table says. The text is cut into pieces that the options point into. For a transport of your own, too. */
TITHE_API tithe_status tithe_options_read(const tithe_option *table, char *text, void *options,
                                          tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
