/* options.h - what a verb takes, as one table: it parses the command line and prints --help. */
#ifndef TITHE_CLI_OPTIONS_H
#define TITHE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tithe/learn.h"

typedef enum option_kind {
    OPTION_TEXT,   /* target: const char **  */
    OPTION_NUMBER, /* target: uint64_t *, a whole number from min to max */
    OPTION_REAL,   /* target: double *, a finite number from real_min to real_max */
    OPTION_CHOICE, /* target: int *, the place in `choices` */
    OPTION_FLAG,   /* target: bool *, takes no argument */
    OPTION_RUN     /* target: tithe_train_options *, as the library's table of its options has it */
} option_kind;

typedef struct option_row { /* struct option is getopt_long's */
    const char *name;       /* without the dashes; NULL ends a table */
    const char *argument;   /* as --help shows it */
    const char *doc;
    option_kind kind;
    void *target; /* untouched unless the option is given: it holds the default; the last one wins */
    uint64_t min, max;
    double real_min, real_max;
    const char *choices;  /* "f32|f64" */
    const char *fallback; /* what --help adds to doc as the default; NULL: nothing */
} option;

typedef struct command {
    const char *positionals; /* "SPEC IN OUT", as --help shows them */
    int min, max;            /* how many of them; max < 0: any number */
    const char *summary;     /* what the verb does, in one sentence or a few */
    const option *options;
    const char *examples; /* lines, the last one without its newline */
    const char *verb;     /* whose options these are; NULL: those of the verb that runs */
} command;

/* Options may stand anywhere; "--name value" and "--name=value" are the same; "--" ends them; a lone "-" is a
 * positional. argv starts behind the verb, and is sorted in place: the positionals come first, *count of them.
 * False: the verb ends here with *status, after --help or after one sentence. */
bool options_parse(const command *c, int argc, char **argv, int *count, int *status);

/* The whole of `text` as a number in [min, max]: digits alone, no sign, no blank, no overflow. */
bool options_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* "100,200,50" as sizes from malloc. False: that was said, naming the option. */
bool options_sizes(const char *name, const char *text, size_t **sizes, size_t *count);

/* Rows of a table; the target's type is the kind's. */
option option_text(const char *name, const char *argument, const char *doc, const char **target);
option option_number(const char *name, const char *argument, const char *doc, uint64_t min, uint64_t max,
                     uint64_t *target);
option option_real(const char *name, const char *argument, const char *doc, double min, double max,
                   double *target);
option option_u32(const char *name, const char *argument, const char *doc, uint64_t *target);
option option_u64(const char *name, const char *argument, const char *doc, uint64_t *target);
option option_choice(const char *name, const char *choices, const char *doc, int *target);
option option_flag(const char *name, const char *doc, bool *target);
option option_run(const tithe_option *row, tithe_train_options *target);
option option_run_named(const char *name, tithe_train_options *target); /* for a verb that has one of them */
option option_json(const char **target); /* --json FILE, the same for every verb */
option option_end(void);

#endif
