/* buffer.c - see buffer.h. */
#include "report/buffer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void ti_buffer_add(buffer *b, const void *bytes, size_t length)
{
    if (b->failed || length == 0) return;
    if (length > b->capacity - b->length) {
        size_t capacity = b->capacity ? b->capacity : 4096;
        while (capacity - b->length < length && capacity <= SIZE_MAX / 2) capacity *= 2;
        char *larger = capacity - b->length >= length ? realloc(b->text, capacity) : NULL;
        if (!larger) {
            b->failed = true;
            return;
        }
        b->text = larger;
        b->capacity = capacity;
    }
    memcpy(b->text + b->length, bytes, length);
    b->length += length;
}

void ti_buffer_text(buffer *b, const char *text)
{
    ti_buffer_add(b, text, strlen(text));
}

void ti_buffer_free(buffer *b)
{
    free(b->text);
    *b = (buffer){0};
}
