/* vectors.c - see vectors.h. */
#include "vectors.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "text.h"

const char *vector_type_name(tithe_type type)
{
    return type == TITHE_F64 ? "f64" : "f32";
}

size_t vector_type_size(tithe_type type)
{
    return type == TITHE_F64 ? 8 : 4;
}

/* Files are little-endian. On a machine that is too there is nothing to do. */
static void swap_if_big(void *numbers, size_t size, size_t count)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    if (first == 1) return;
    uint8_t *bytes = numbers;
    for (size_t i = 0; i < count; i++, bytes += size)
        for (size_t low = 0, high = size - 1; low < high; low++, high--) {
            const uint8_t b = bytes[low];
            bytes[low] = bytes[high];
            bytes[high] = b;
        }
}

bool vector_read(const char *path, tithe_type type, void **x, size_t *n)
{
    const size_t size = vector_type_size(type);
    uint8_t *data;
    size_t bytes;
    if (!file_read(path, &data, &bytes)) return false;
    if (bytes % size != 0) {
        text_fail(
            "'%s' holds %s bytes, which is no multiple of %zu: it is cut short, or not made of %s numbers",
            file_input_name(path), text_group(bytes).text, size, vector_type_name(type));
    } else if (bytes / size > TITHE_MAX_N) {
        text_fail("'%s' holds %s numbers, but a frame takes at most %s: cut the vector in pieces",
                  file_input_name(path), text_group(bytes / size).text, text_group(TITHE_MAX_N).text);
    } else {
        swap_if_big(data, size, bytes / size);
        *x = data;
        *n = bytes / size;
        return true;
    }
    free(data);
    return false;
}

bool vector_write(const char *path, tithe_type type, void *x, size_t n)
{
    swap_if_big(x, vector_type_size(type), n);
    return file_write(path, x, n * vector_type_size(type));
}

/* ---- indices ------------------------------------------------------------------------------------------ */

static bool separates(uint8_t c)
{
    return c == ',' || c == ' ' || (c >= '\t' && c <= '\r');
}

static bool looks_like_text(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!separates(data[i]) && (data[i] < '0' || data[i] > '9')) return false;
    return true;
}

/* Decimal numbers between separators. Two commas in a row are one gap, as two blanks are. */
static bool read_text(const char *path, const uint8_t *data, size_t size, size_t n, uint32_t *out,
                      size_t *count)
{
    size_t filled = 0;
    for (size_t i = 0; i < size;) {
        if (separates(data[i])) {
            i++;
            continue;
        }
        uint64_t value = 0;
        const size_t start = i;
        for (; i < size && !separates(data[i]); i++)
            if (value <= UINT32_MAX) value = value * 10 + (uint64_t)(data[i] - '0');
        if (value >= n || value > UINT32_MAX) {
            text_fail("Index %.*s in '%s' lies outside the vector, which has %s coordinates counted from 0",
                      (int)(i - start > 40 ? 40 : i - start), (const char *)data + start,
                      file_input_name(path), text_group(n).text);
            return false;
        }
        out[filled++] = (uint32_t)value;
    }
    *count = filled;
    return true;
}

static bool read_binary(const char *path, const uint8_t *data, size_t size, size_t n, uint32_t *out,
                        size_t *count)
{
    if (size % 4 != 0) {
        text_fail("'%s' holds %s bytes, neither text nor a whole number of 4-byte indices",
                  file_input_name(path), text_group(size).text);
        return false;
    }
    memcpy(out, data, size);
    swap_if_big(out, 4, size / 4);
    for (size_t i = 0; i < size / 4; i++) {
        if (out[i] >= n) {
            text_fail("Index %lu in '%s' lies outside the vector, which has %s coordinates counted from 0",
                      (unsigned long)out[i], file_input_name(path), text_group(n).text);
            return false;
        }
    }
    *count = size / 4;
    return true;
}

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

bool indices_read(const char *path, size_t n, uint32_t **indices, size_t *count)
{
    uint8_t *data;
    size_t size;
    if (!file_read(path, &data, &size)) return false;

    /* Text needs at least two bytes for each number but the last, binary four. */
    uint32_t *out = malloc((size / 2 + 1) * sizeof *out);
    bool fine = out != NULL;
    if (!fine) text_fail("There is no memory left for the indices in '%s'", file_input_name(path));
    if (fine) fine = (looks_like_text(data, size) ? read_text : read_binary)(path, data, size, n, out, count);
    if (fine) {
        qsort(out, *count, sizeof *out, by_value);
        for (size_t i = 1; fine && i < *count; i++)
            if (out[i] == out[i - 1]) {
                text_fail("Index %lu stands twice in '%s'; once is enough", (unsigned long)out[i],
                          file_input_name(path));
                fine = false;
            }
    }
    free(data);
    if (fine)
        *indices = out;
    else
        free(out);
    return fine;
}
