/* buffer.h - text that grows. Once memory has run out, nothing more is added and `failed` says so, so that a
 * writer asks once, at the end. */
#ifndef REPORT_BUFFER_H
#define REPORT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct buffer {
    char *text;
    size_t length, capacity;
    bool failed;
} buffer;

void ti_buffer_add(buffer *b, const void *bytes, size_t length);
void ti_buffer_text(buffer *b, const char *text);
void ti_buffer_free(buffer *b);

#endif
