/* text.h - everything that a person reads: sentences, numbers, wrapped paragraphs, progress. */
#ifndef TITHE_CLI_TEXT_H
#define TITHE_CLI_TEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tithe/tithe.h"

/* The three ways in which the tool ends; whom a signal stops has one more (train_run.h). */
enum { EXIT_DONE = 0, EXIT_ANSWER_NO = 1, EXIT_BAD = 2 };

enum { TEXT_WIDTH = 96 };

/* Every complaint of this process starts with "tithe <verb>: ". main.c names the verb once. */
void text_set_verb(const char *verb);
const char *text_verb(void);
/* Until it is called again with NULL: every complaint is about this line of a file, and says so. */
void text_set_place(const char *file, int line);

/* One line on standard error, whatever the arguments hold. Returns EXIT_BAD, so that a verb can
 * `return text_fail(...)`. */
int text_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a status of the library: its own sentence where it left one, with its options as flags. `about` (NULL: nothing) goes in
 * front: the file or the spec that the sentence is about. */
int text_fail_status(const char *about, tithe_status status, const tithe_error *error);

/* Processes that one of them has started complain with one voice: in these, the sentences above are put into memory that all of them share, and
 * the one that has started them prints one when they have ended. What went wrong in a process goes before what it heard of another. */
typedef struct text_voice {
    struct {
        atomic_flag taken; /* the first one has it */
        char line[1024];   /* empty: not taken, or not yet written */
    } own, heard;
} text_voice;
void text_speak_through(text_voice *voice); /* NULL: for oneself, as at the start */
void text_say(const text_voice *voice);     /* nothing, where nobody complained */

/* 1234567 as "1,234,567". By value, so that one printf can hold several. */
typedef struct text_number {
    char text[40];
} text_number;
text_number text_group(uint64_t value);
/* A measured number in at most six digits; "-" when it is not finite. */
text_number text_short(double value);

/* 1234567 bytes as "1.23 MB" */
text_number text_bytes(double bytes);

/* "186 x smaller than the dense vector of 400,000 bytes", or that it is not smaller. */
typedef struct text_line {
    char text[160];
} text_line;
text_line text_smaller(size_t bytes, size_t dense);

/* The entry of a NULL-terminated list that is nearest to `word` in edits of one letter; the first of equals. */
const char *text_nearest(const char *word, const char *const *words);

/* Print words in lines of at most TEXT_WIDTH columns. The cursor stands at `column`; further lines are
 * indented by `indent`. Ends with a newline. */
void text_wrap(FILE *to, size_t column, size_t indent, const char *words);

/* "unbiased, contractive": the names of the bits in tithe_claims.traits. */
typedef struct text_trait {
    unsigned bit;
    const char *name;
} text_trait;
extern const text_trait text_traits[];      /* ends with a NULL name */
text_line text_trait_list(unsigned traits); /* "none" when there is none */

/* A line that replaces itself, on a terminal only; nothing at all elsewhere. */
void text_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void text_progress_end(void);

/* malloc that ends the program with one sentence when there is no memory: for the small things. Sizes that
 * come from a file or a user are asked for with malloc, and answered with a sentence of their own. */
void *text_memory(size_t size);
char *text_copy(const char *text);

#endif
