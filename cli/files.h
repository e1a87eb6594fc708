/* files.h - whole files in and out. "-" is standard input or standard output. What fails has already said so
 * in one sentence that names the file. */
#ifndef TITHE_CLI_FILES_H
#define TITHE_CLI_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All bytes of a file, in memory from malloc (never NULL, aligned for any number). */
bool file_read(const char *path, uint8_t **data, size_t *size);

/* All or nothing: the bytes are written beside the file and renamed over it, so a reader never sees half of
 * them, and a failure leaves what was there. Devices and pipes are written straight. */
bool file_write(const char *path, const void *data, size_t size);

/* The path, or "standard input" for "-". */
const char *file_input_name(const char *path);

/* Can a file be put there, which file_write and the library do by renaming? Found out before long work begins; False:
 * that was said. */
bool file_can_write(const char *path);

bool file_is_standard(const char *path); /* is it "-"? */

#endif
