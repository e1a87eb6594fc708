/* files.h - whole files in and out. "-" is standard input or standard output. What fails has already said so
 * in one sentence that names the file. */
#ifndef TITHE_CLI_FILES_H
#define TITHE_CLI_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All bytes of a file, in memory from malloc (never NULL, aligned for any number). */
bool file_read(const char *path, uint8_t **data, size_t *size);

/* All or nothing (tithe_output_write). */
bool file_write(const char *path, const void *data, size_t size);

/* The path, or "standard input" for "-". */
const char *file_input_name(const char *path);

/* Can a file be put there, which the library does by renaming? Found out before long work begins; False:
 * that was said. */
bool file_can_write(const char *path);

bool file_is_standard(const char *path); /* is it "-"? */

/* Where a verb writes to. */
typedef struct file_output {
    const char *option; /* as it is typed; NULL ends a list */
    const char *path;   /* NULL: nobody asked for it */
    bool in_place;      /* written line by line, and not renamed into its folder */
} file_output;

/* Before long work begins: can all of them be written, and does one at most want standard output? Then *taken says whether one
 * does, so that nothing else may be printed there. False: that was said. */
bool file_outputs(const file_output *outputs, bool *taken);

#endif
