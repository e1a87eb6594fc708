/* rows.c - arrays that grow, and what is done to all rows alike: dense or sparse, unit length, hash. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/status.h"
#include "data/data.h"

static tithe_status no_memory(tithe_error *error, size_t rows, size_t values)
{
    return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for %zu rows with %zu values.", rows,
                   values);
}

/* `p` points to any kind of pointer, which stays as it is when there is no memory. */
static bool resize(void *p, size_t count, size_t width)
{
    if (width && count > SIZE_MAX / width) return false;
    void *old;
    memcpy(&old, p, sizeof old);
    void *moved = realloc(old, count ? count * width : 1);
    if (moved) memcpy(p, &moved, sizeof moved);
    return moved != NULL; /* cppcheck-suppress memleak ; it went through memcpy into the caller's pointer */
}

static size_t more(size_t room, size_t needed)
{
    const size_t half = room + room / 2;
    return half > needed ? half : needed;
}

/* What so many rows and values take. As doubles: whoever asks for too many may ask for any number. */
static tithe_status expect_memory(const data_rows *d, double rows, double values, bool dense,
                                  tithe_error *error)
{
    const double row = (dense ? 0 : sizeof *d->offsets) + sizeof *d->labels;
    const double bytes = rows * row + values * (double)((dense ? 0 : sizeof *d->indices) + sizeof *d->values);
    return ti_data_expect_memory(d, bytes < 1e19 ? (uint64_t)bytes : UINT64_MAX, error);
}

/* Room is made ahead of what is known to be there; what counts is what is there. */
tithe_status ti_data_reserve(data_rows *d, size_t rows, size_t values, tithe_error *error)
{
    const tithe_status fits = expect_memory(d, (double)d->rows, (double)d->count, false, error);
    if (fits) return fits;
    if (d->rows + rows > d->row_room) {
        const size_t room = more(d->row_room, d->rows + rows);
        if (!resize(&d->offsets, room + 1, sizeof *d->offsets) ||
            !resize(&d->labels, room, sizeof *d->labels))
            return no_memory(error, d->rows + rows, d->count);
        if (!d->row_room) d->offsets[0] = 0;
        d->row_room = room;
    }
    if (d->count + values > d->value_room) {
        const size_t room = more(d->value_room, d->count + values);
        if (!resize(&d->indices, room, sizeof *d->indices) || !resize(&d->values, room, sizeof *d->values))
            return no_memory(error, d->rows, d->count + values);
        d->value_room = room;
    }
    return TITHE_OK;
}

tithe_status ti_data_make_room(data_rows *d, size_t rows, size_t values, bool dense, tithe_error *error)
{
    const tithe_status fits = expect_memory(d, (double)rows, (double)values, dense, error);
    if (fits) return fits;
    if (!dense) return ti_data_reserve(d, rows, values, error);
    if (!resize(&d->labels, rows, sizeof *d->labels) || !resize(&d->values, values, sizeof *d->values))
        return no_memory(error, rows, values);
    d->row_room = rows;
    d->value_room = values;
    return TITHE_OK;
}

void ti_data_rows_free(data_rows *d)
{
    free(d->offsets);
    free(d->indices);
    free(d->values);
    free(d->labels);
    *d = (data_rows){0};
}

/* ---- sparse or dense ---------------------------------------------------------------------------------------- */

/* Dense rows of `features` values from whatever the rows are now. */
static tithe_status make_dense(data_rows *d, size_t features, tithe_error *error)
{
    const tithe_status fits =
        expect_memory(d, (double)d->rows, (double)d->rows * (double)features, true, error);
    if (fits) return fits;
    float *values =
        features && d->rows > SIZE_MAX / features ? NULL : calloc(d->rows * features + 1, sizeof *values);
    if (!values) return no_memory(error, d->rows, features);
    for (size_t i = 0; i < d->rows; i++) {
        float *row = values + i * features;
        if (d->offsets)
            for (size_t k = d->offsets[i]; k < d->offsets[i + 1]; k++) row[d->indices[k]] = d->values[k];
        else
            memcpy(row, d->values + i * d->features, d->features * sizeof *row);
    }
    free(d->offsets);
    free(d->indices);
    free(d->values);
    d->offsets = NULL;
    d->indices = NULL;
    d->values = values;
    d->features = features;
    d->count = d->rows * features;
    return TITHE_OK;
}

tithe_status ti_data_settle(data_rows *d, size_t features, tithe_error *error)
{
    if (features && features < d->features)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "The data has %zu features, so it cannot be read with %zu: ask for as many or more.",
                       d->features, features);
    if (features > TITHE_MAX_N)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "%zu features are too many: the limit is %u.", features,
                       TITHE_MAX_N);
    if (!features) features = d->features;
    if (!d->offsets) return features == d->features ? TITHE_OK : make_dense(d, features, error);

    d->features = features;
    const double cells = (double)d->rows * (double)features;
    if ((double)d->count * 2 > cells) return make_dense(d, features, error);
    /* Return what growth took too much. Smaller cannot fail in practice, and the larger block serves as well. */
    (void)resize(&d->offsets, d->rows + 1, sizeof *d->offsets);
    (void)resize(&d->labels, d->rows, sizeof *d->labels);
    (void)resize(&d->indices, d->count, sizeof *d->indices);
    (void)resize(&d->values, d->count, sizeof *d->values);
    return TITHE_OK;
}

/* ---- unit rows, hash ------------------------------------------------------------------------------------------ */

void ti_data_normalize(data_rows *d)
{
    for (size_t i = 0; i < d->rows; i++) {
        const size_t begin = d->offsets ? d->offsets[i] : i * d->features;
        const size_t end = d->offsets ? d->offsets[i + 1] : begin + d->features;
        double sum = 0;
        for (size_t k = begin; k < end; k++) sum += (double)d->values[k] * (double)d->values[k];
        if (!(sum > 0)) continue;
        const double length = sqrt(sum);
        for (size_t k = begin; k < end; k++) d->values[k] = (float)((double)d->values[k] / length);
    }
}

/* XXH3 of the numbers as they lie in the memory of a 64-bit little-endian machine. */
uint64_t ti_data_hash(const data_rows *d)
{
    const uint64_t head[4] = {d->rows, d->features, d->count, d->offsets == NULL};
    uint64_t hash = XXH3_64bits(head, sizeof head);
    if (d->offsets) {
        hash = XXH3_64bits_withSeed(d->offsets, (d->rows + 1) * sizeof *d->offsets, hash);
        hash = XXH3_64bits_withSeed(d->indices, d->count * sizeof *d->indices, hash);
    }
    hash = XXH3_64bits_withSeed(d->values, d->count * sizeof *d->values, hash);
    return XXH3_64bits_withSeed(d->labels, d->rows * sizeof *d->labels, hash);
}
