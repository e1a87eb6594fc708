/* parallel.c - see parallel.h. */
#include "kernels/parallel.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/crc32c.h"

enum { MAX_PARTS = 256 };

static unsigned parts_of(tithe_pool *pool, size_t n)
{
    const unsigned parts = pool_parts(pool, n, PARALLEL_MIN);
    return parts < MAX_PARTS ? parts : MAX_PARTS;
}

/* ---- natural compression ------------------------------------------------------------------------------ */

typedef struct natural_work {
    const natural_job *job;
    unsigned parts;
    bool sum; /* the bytes */
    atomic_bool finite;
    uint32_t fields[MAX_PARTS], signs[MAX_PARTS]; /* checksums */
} natural_work;

static size_t sign_bytes(size_t n)
{
    return (n + 7) / 8;
}

/* A chunk after the other, where the bytes are to be summed up: they are still in the cache then. */
static void natural_part(void *context, unsigned part)
{
    enum { CHUNK = 16 * NATURAL_SPAN };
    natural_work *work = context;
    natural_job mine = *work->job;
    const size_t n = mine.n, begin = pool_begin(n, NATURAL_SPAN, work->parts, part),
                 end = pool_begin(n, NATURAL_SPAN, work->parts, part + 1), max = work->sum ? CHUNK : n;
    uint32_t fields = UINT32_MAX, signs = UINT32_MAX;
    for (size_t first = begin; first < end; first += mine.n) {
        mine = *work->job;
        mine.n = end - first < max ? end - first : max;
        mine.source.x += first;
        if (mine.source.g) mine.source.g += first;
        mine.position += first;
        mine.fields += first;
        mine.signs += first / 8;
        if (!ti_kernels()->natural_encode(&mine)) atomic_store(&work->finite, false);
        if (!work->sum) continue;
        fields = ti_kernels()->crc32c(fields, mine.fields, mine.n);
        signs = ti_kernels()->crc32c(signs, mine.signs, sign_bytes(mine.n));
    }
    work->fields[part] = ~fields;
    work->signs[part] = ~signs;
}

bool ti_parallel_natural_encode(tithe_pool *pool, const natural_job *job, tithe_checksum *checksum)
{
    natural_work work = {.job = job, .parts = parts_of(pool, job->n), .sum = checksum != NULL};
    atomic_init(&work.finite, true);
    ti_pool_run(pool, work.parts, natural_part, &work);
    if (checksum) {
        uint32_t fields = 0, signs = 0;
        for (unsigned part = 0; part < work.parts; part++) {
            const size_t n = pool_begin(job->n, NATURAL_SPAN, work.parts, part + 1) -
                             pool_begin(job->n, NATURAL_SPAN, work.parts, part);
            fields = ti_crc32c_join(fields, work.fields[part], n);
            signs = ti_crc32c_join(signs, work.signs[part], sign_bytes(n));
        }
        *checksum = (tithe_checksum){true, ti_crc32c_join(fields, signs, sign_bytes(job->n))};
    }
    return atomic_load(&work.finite);
}

typedef struct decode_job {
    const uint8_t *fields, *signs;
    size_t n;
    float factor, scale, *y;
    unsigned parts;
} decode_job;

static void decode_part(void *context, unsigned part)
{
    const decode_job *job = context;
    const size_t begin = pool_begin(job->n, NATURAL_SPAN, job->parts, part);
    const size_t end = pool_begin(job->n, NATURAL_SPAN, job->parts, part + 1);
    ti_kernels()->natural_decode_add(job->fields + begin, job->signs + begin / 8, end - begin, job->factor,
                                     job->scale, job->y + begin);
}

void ti_parallel_natural_decode_add(tithe_pool *pool, const uint8_t *fields, const uint8_t *signs, size_t n,
                                    float factor, float scale, float *y)
{
    decode_job job = {fields, signs, n, factor, scale, y, pool_parts(pool, n, PARALLEL_MIN)};
    ti_pool_run(pool, job.parts, decode_part, &job);
}

/* ---- selection ---------------------------------------------------------------------------------------- */

/* A chunk after the other, so that one in which survivors crowd, and which is therefore looked through twice, comes
 * from the cache the second time, and so that each tells how many to expect of the next. More than `enough` are not
 * looked for, unless there is something to add on the way. */
static size_t select_chunks(const select_job *job, size_t enough, bool take, bool *finite)
{
    enum { CHUNK = 1 << 17 };
    size_t count = 0, here = 0;
    *finite = true;
    for (size_t first = 0; first < job->n && (count <= enough || job->source.g); first += CHUNK) {
        const size_t at = count < job->capacity ? count : job->capacity;
        bool chunk_finite;
        select_job chunk = *job;
        chunk.n = job->n - first < CHUNK ? job->n - first : CHUNK;
        chunk.source.x += first;
        if (chunk.source.g) chunk.source.g += first;
        chunk.first += (uint32_t)first;
        chunk.indices += at;
        chunk.values += at;
        chunk.capacity -= at;
        chunk.expected = here;
        here = ti_kernels()->select(&chunk, &chunk_finite);
        for (size_t i = 0; take && i < here; i++)
            if (chunk_finite || isfinite(chunk.values[i])) job->source.x[chunk.indices[i] - job->first] = 0;
        count += here;
        *finite &= chunk_finite;
    }
    return count;
}

typedef struct select_work {
    select_job job;
    unsigned parts;
    bool take;
    bool counted; /* before: every part gets the room that it needs, else an equal share */
    atomic_bool finite;
    size_t count[MAX_PARTS];
} select_work;

enum { UNIT = 64 /* where parts begin */ };

/* The sixteen places that a vector may be stored beyond the last survivor belong to each part's room. */
static select_job select_share(const select_work *work, unsigned part)
{
    select_job mine = work->job;
    const size_t n = mine.n, begin = pool_begin(n, UNIT, work->parts, part),
                 share = mine.capacity / work->parts;
    size_t room_begin = part * share;
    mine.capacity = share - 16;
    if (work->counted) {
        room_begin = 0;
        for (unsigned before = 0; before < part; before++) room_begin += work->count[before] + 16;
        mine.capacity = work->count[part];
    }
    mine.n = pool_begin(n, UNIT, work->parts, part + 1) - begin;
    mine.source.x += begin;
    if (mine.source.g) mine.source.g += begin;
    mine.first += (uint32_t)begin;
    mine.indices += room_begin;
    mine.values += room_begin;
    return mine;
}

static void select_part(void *context, unsigned part)
{
    select_work *work = context;
    const select_job mine = select_share(work, part);
    bool finite;
    const size_t count = select_chunks(&mine, work->job.capacity, work->take, &finite);
    if (!finite) atomic_store(&work->finite, false);
    if (!work->counted) work->count[part] = count;
}

static size_t select_all(tithe_pool *pool, const select_job *job, bool take, bool *finite)
{
    select_work work = {.job = *job, .parts = parts_of(pool, job->n), .take = take, .finite = true};
    if (work.parts == 1 || job->capacity / work.parts < 1024)
        return select_chunks(job, job->capacity, take, finite);
    ti_pool_run(pool, work.parts, select_part, &work);
    *finite = atomic_load(&work.finite);

    size_t total = 0;
    bool crowded = false;
    for (unsigned part = 0; part < work.parts; part++) {
        total += work.count[part];
        crowded |= work.count[part] > job->capacity / work.parts - 16;
    }
    if (total > job->capacity) return total;
    if (crowded) { /* survivors crowd in one part: once more, with as much room for each as it needs */
        work.job.source.g = NULL; /* it was added the first time */
        work.counted = true;
        if (total + 16 * work.parts > job->capacity)
            return select_chunks(&work.job, job->capacity, false, &(bool){true});
        ti_pool_run(pool, work.parts, select_part, &work);
    }
    size_t count = 0;
    for (unsigned part = 0; part < work.parts; part++) {
        const select_job mine = select_share(&work, part);
        memmove(job->indices + count, mine.indices, work.count[part] * sizeof *mine.indices);
        memmove(job->values + count, mine.values, work.count[part] * sizeof *mine.values);
        count += work.count[part];
    }
    return count;
}

size_t ti_parallel_select(tithe_pool *pool, const select_job *job, bool *finite)
{
    return select_all(pool, job, false, finite);
}

size_t ti_parallel_take(tithe_pool *pool, const select_job *job, bool *finite)
{
    return select_all(pool, job, true, finite);
}

size_t ti_parallel_room(size_t n)
{
    const size_t max = n / PARALLEL_MIN, parts = max < MAX_PARTS ? max : MAX_PARTS;
    return n +
           parts * (2 * UNIT + 32); /* a part may be two units longer than the mean, and a vector beyond */
}
