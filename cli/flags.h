/* flags.h - the library speaks of `feedback=ec`, as everybody can write it; on a command line that is --feedback ec. */
#ifndef TITHE_CLI_FLAGS_H
#define TITHE_CLI_FLAGS_H

#include <stddef.h>

/* A sentence of the library, with the options of a run that stand in backquotes as flags. Anything else in backquotes stays as
 * it is. As much as there is room for. */
void flags_say(const char *sentence, char *text, size_t room);

/* "scheme=star;codec=topk:keep=0.1" as "--scheme star --codec topk:keep=0.1". */
void flags_list(const char *options, char *text, size_t room);

/* A word as a shell takes it, with quotes around it where it needs them. Returns how long that is; writes as much as there
 * is room for, and a zero behind it. */
size_t flags_quote(const char *word, size_t length, char *text, size_t room);

#endif
