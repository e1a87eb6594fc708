/* vectors.h - numbers in files: raw little-endian floats, and lists of positions. What fails has already said
 * so in one sentence. */
#ifndef TITHE_CLI_VECTORS_H
#define TITHE_CLI_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tithe/tithe.h"

const char *vector_type_name(tithe_type type); /* "f32" */
size_t vector_type_size(tithe_type type);      /* 4 or 8 bytes */

/* A whole file of f32 or f64 numbers, in memory from malloc. */
bool vector_read(const char *path, tithe_type type, void **x, size_t *n);
/* Turns x into the byte order of files, and leaves it so. */
bool vector_write(const char *path, tithe_type type, void *x, size_t n);

/* Positions below n, sorted ascending, in memory from malloc. The file holds little-endian 32-bit numbers, or
 * text when each of its bytes is a digit, white space or a comma. */
bool indices_read(const char *path, size_t n, uint32_t **indices, size_t *count);

#endif
