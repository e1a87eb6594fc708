/* checkpoint_file.c - see checkpoint_file.h. */
#define _XOPEN_SOURCE 700
#include "learn/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "tithe/codec.h"
#include "tithe/frame.h"

static const char magic[8] = {'T', 'I', 'T', 'H', 'E', 'C', 'K', 'P'};

/* ---- the head ------------------------------------------------------------------------------------------- */

size_t ti_checkpoint_write_head(const checkpoint_head *h, uint8_t *p)
{
    const size_t length = strnlen(h->text, CHECKPOINT_TEXT);
    const uint64_t before[] = {h->step, h->n, h->seed, h->data};
    const double numbers[] = {h->epochs, h->seconds, h->average_ratio};
    const uint64_t after[] = {h->average_count, h->average_earlier, h->average_steps, h->learned};
    memcpy(p, magic, sizeof magic);
    put_u32(p + 8, CHECKPOINT_VERSION);
    put_u32(p + 12, (uint32_t)length);
    for (int i = 0; i < 4; i++) put_u64(p + 16 + 8 * i, before[i]);
    put_u32(p + 48, h->workers);
    put_u32(p + 52, h->parts);
    for (int i = 0; i < 3; i++) put_f64(p + 56 + 8 * i, numbers[i]);
    for (int i = 0; i < 4; i++) put_u64(p + 80 + 8 * i, after[i]);
    memcpy(p + CHECKPOINT_HEAD, h->text, length);
    return CHECKPOINT_HEAD + length;
}

static uint64_t numbers_bytes(const checkpoint_head *h, uint32_t part, uint64_t width)
{
    return h->parts & part ? width * h->n : 0;
}

uint64_t ti_checkpoint_shared_bytes(const checkpoint_head *h)
{
    return 8 * h->n + numbers_bytes(h, PART_AGGREGATE, 4) + numbers_bytes(h, PART_SERVER, 4) +
           numbers_bytes(h, PART_STEERED, 4) + numbers_bytes(h, PART_ANCHOR, 8) +
           numbers_bytes(h, PART_MEAN, 8) + numbers_bytes(h, PART_BEFORE, 8) +
           (h->parts & PART_CLIENTS ? 4 * (uint64_t)h->workers : 0) +
           (h->parts & PART_LOWEST ? 8 * (2 + h->n) : 0) + 8 * h->learned;
}

uint64_t ti_checkpoint_worker_bytes(const checkpoint_head *h)
{
    return UINT64_C(8) * checkpoint_account(h) + numbers_bytes(h, PART_RESIDUAL, 4) +
           numbers_bytes(h, PART_MOMENTUM, 8) + numbers_bytes(h, PART_MOVED, 4) +
           (h->parts & PART_STEERED ? 8 : 0);
}

/* Lines "key: value" of printable letters, each with its end. */
static bool is_text(const char *text, size_t length)
{
    if (length == 0 || text[length - 1] != '\n') return false;
    for (const char *line = text; line < text + length;) {
        const char *end = memchr(line, '\n', (size_t)(text + length - line));
        const char *colon = memchr(line, ':', (size_t)(end - line));
        if (!colon || colon == line || end - colon < 2 || colon[1] != ' ') return false;
        for (const char *c = line; c < end; c++)
            if ((unsigned char)*c < 32 || *c == 127) return false;
        line = end + 1;
    }
    return true;
}

tithe_status ti_checkpoint_read_head(const char *name, const uint8_t *p, size_t length, uint64_t total,
                                     checkpoint_head *h, size_t *used, tithe_error *error)
{
    if (length < sizeof magic || memcmp(p, magic, sizeof magic) != 0)
        return ti_fail(error, TITHE_E_CORRUPT, 0, "'%.100s' is no checkpoint.", name);
    const uint32_t version = length >= 12 ? get_u32(p + 8) : CHECKPOINT_VERSION;
    if (version < CHECKPOINT_OLDEST || version > CHECKPOINT_VERSION)
        return ti_fail(error, TITHE_E_MISMATCH, 8,
                       "'%.100s' is a checkpoint of version %lu, but this Tithe reads versions %d to %d.",
                       name, (unsigned long)version, CHECKPOINT_OLDEST, CHECKPOINT_VERSION);
    const uint32_t text = length >= 16 ? get_u32(p + 12) : 0;
    if (length < CHECKPOINT_HEAD || (text <= CHECKPOINT_TEXT && length < CHECKPOINT_HEAD + (size_t)text))
        return ti_fail(error, TITHE_E_CORRUPT, length, "'%.100s' is cut off: it ends in the head.", name);
    if (text > CHECKPOINT_TEXT || !is_text((const char *)p + CHECKPOINT_HEAD, text))
        return ti_fail(error, TITHE_E_CORRUPT, 12, "'%.100s' is damaged: its head makes no sense.", name);
    *h = (checkpoint_head){.step = get_u64(p + 16),
                           .n = get_u64(p + 24),
                           .seed = get_u64(p + 32),
                           .data = get_u64(p + 40),
                           .version = version,
                           .workers = get_u32(p + 48),
                           .parts = get_u32(p + 52),
                           .epochs = get_f64(p + 56),
                           .seconds = get_f64(p + 64),
                           .average_ratio = get_f64(p + 72),
                           .average_count = get_u64(p + 80),
                           .average_earlier = get_u64(p + 88),
                           .average_steps = get_u64(p + 96),
                           .learned = get_u64(p + 104)};
    memcpy(h->text, p + CHECKPOINT_HEAD, text);
    *used = CHECKPOINT_HEAD + text;
    if (h->n > TITHE_MAX_N || h->workers < 1 || h->workers > CHECKPOINT_MAX_WORKERS ||
        h->learned > CHECKPOINT_MAX_LEARNED || h->parts & ~(uint32_t)PART_ALL || !(h->epochs >= 0) ||
        !(h->seconds >= 0))
        return ti_fail(error, TITHE_E_CORRUPT, 16, "'%.100s' is damaged: its head makes no sense.", name);
    const uint64_t expected =
        *used + ti_checkpoint_shared_bytes(h) + h->workers * ti_checkpoint_worker_bytes(h) + CHECKPOINT_TAIL;
    if (total < expected)
        return ti_fail(error, TITHE_E_CORRUPT, 0, "'%.100s' is cut off: it has %llu of %llu bytes.", name,
                       (unsigned long long)total, (unsigned long long)expected);
    if (total > expected)
        return ti_fail(error, TITHE_E_CORRUPT, 0, "'%.100s' is damaged: it has %llu bytes in place of %llu.",
                       name, (unsigned long long)total, (unsigned long long)expected);
    return TITHE_OK;
}

/* ---- writing -------------------------------------------------------------------------------------------- */

static tithe_status cannot_write(const char *path, int reason, tithe_error *error)
{
    return ti_fail(error, TITHE_E_FILE, 0, "Cannot write '%.140s': %s.", path, strerror(reason));
}

void ti_checkpoint_close(checkpoint_file *file)
{
    if (file->stream) fclose(file->stream);
    if (file->beside) unlink(file->beside);
    free(file->path);
    free(file->beside);
    *file = (checkpoint_file){0};
}

tithe_status ti_checkpoint_create(const char *path, checkpoint_file *file, tithe_error *error)
{
    struct stat about, itself;
    const bool exists = stat(path, &about) == 0;
    const bool link = lstat(path, &itself) == 0 && S_ISLNK(itself.st_mode);
    *file = (checkpoint_file){0};
    if (link && itself.st_uid != geteuid())
        return ti_fail(error, TITHE_E_FILE, 0,
                       "Cannot write '%.140s': it is a link of somebody else's: take another name.", path);
    if (exists && !S_ISREG(about.st_mode))
        return ti_fail(error, TITHE_E_FILE, 0, "Cannot write '%.140s': a checkpoint has to be a file.", path);
    /* Through a symbolic link of our own it is the file behind it that is replaced; whatever else is there is replaced itself. */
    char *target = exists && link ? realpath(path, NULL) : strdup(path), *beside = NULL;
    if (!target)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to write '%.140s'.", path);
    const int descriptor = ti_beside_create(target, &beside);
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (!stream) {
        const int reason = errno;
        if (descriptor >= 0) {
            close(descriptor);
            unlink(beside);
        }
        free(target);
        free(beside);
        return cannot_write(path, reason, error);
    }
    /* A file that is replaced keeps its permissions; where that is not allowed the new ones will do. */
    if (exists && fchmod(descriptor, about.st_mode & 07777) != 0) errno = 0;
    *file = (checkpoint_file){.path = target, .beside = beside, .stream = stream};
    return TITHE_OK;
}

tithe_status ti_checkpoint_try(const char *path, tithe_error *error)
{
    checkpoint_file file;
    const tithe_status status = ti_checkpoint_create(path, &file, error);
    if (!status) ti_beside_sweep(file.path);
    ti_checkpoint_close(&file);
    return status;
}

tithe_status ti_checkpoint_put(checkpoint_file *file, const void *bytes, size_t length, tithe_error *error)
{
    if (fwrite(bytes, 1, length, file->stream) != length) return cannot_write(file->path, errno, error);
    file->crc = ti_crc32c_join(file->crc, tithe_crc32c(bytes, length), length);
    return TITHE_OK;
}

tithe_status ti_checkpoint_finish(checkpoint_file *file, tithe_error *error)
{
    uint8_t tail[CHECKPOINT_TAIL];
    put_u32(tail, file->crc);
    tithe_status status = ti_checkpoint_put(file, tail, sizeof tail, error);
    /* Without fsync a crash soon after the rename could leave an empty file where a good one was. */
    if (!status && (fflush(file->stream) != 0 || (fsync(fileno(file->stream)) != 0 && errno != EINVAL)))
        status = cannot_write(file->path, errno, error);
    if (fclose(file->stream) != 0 && !status) status = cannot_write(file->path, errno, error);
    file->stream = NULL;
    if (!status && rename(file->beside, file->path) != 0) status = cannot_write(file->path, errno, error);
    if (!status) {
        free(file->beside);
        file->beside = NULL;
    }
    ti_checkpoint_close(file);
    return status;
}

/* ---- reading -------------------------------------------------------------------------------------------- */

tithe_status ti_checkpoint_get(checkpoint_file *file, void *bytes, size_t length, tithe_error *error)
{
    if (fread(bytes, 1, length, file->stream) == length) return TITHE_OK;
    return ti_fail(error, TITHE_E_FILE, 0, "Cannot read '%.140s': %s.", file->path,
                   ferror(file->stream) ? strerror(errno) : "it became shorter meanwhile");
}

/* The checksum is the last four bytes, so all before it are read once, a piece at a time. */
static tithe_status check_sum(checkpoint_file *file, uint64_t total, tithe_error *error)
{
    uint8_t piece[16384];
    uint32_t crc = 0;
    tithe_status status = TITHE_OK;
    rewind(file->stream);
    for (uint64_t left = total - CHECKPOINT_TAIL; left > 0 && !status;) {
        const size_t length = left < sizeof piece ? (size_t)left : sizeof piece;
        status = ti_checkpoint_get(file, piece, length, error);
        if (!status) crc = ti_crc32c_join(crc, tithe_crc32c(piece, length), length);
        left -= length;
    }
    if (!status) status = ti_checkpoint_get(file, piece, CHECKPOINT_TAIL, error);
    if (!status && get_u32(piece) != crc)
        status =
            ti_fail(error, TITHE_E_CORRUPT, 0, "'%.100s' is damaged: its checksum is wrong.", file->path);
    return status;
}

tithe_status ti_checkpoint_open(const char *path, checkpoint_file *file, checkpoint_head *head,
                                tithe_error *error)
{
    const int descriptor =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for its writer */
    *file =
        (checkpoint_file){.path = strdup(path), .stream = descriptor < 0 ? NULL : fdopen(descriptor, "rb")};
    struct stat about = {0};
    uint8_t *bytes = malloc(CHECKPOINT_HEAD + CHECKPOINT_TEXT);
    tithe_status status = TITHE_OK;
    size_t used = 0;
    if (!file->stream && descriptor >= 0) close(descriptor);
    if (!file->path || !bytes)
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to read '%.140s'.", path);
    else if (!file->stream || fstat(fileno(file->stream), &about) != 0)
        status = ti_fail(error, TITHE_E_FILE, 0, "Cannot read '%.140s': %s.", path, strerror(errno));
    else if (!S_ISREG(about.st_mode))
        status =
            ti_fail(error, TITHE_E_FILE, 0, "Cannot read '%.140s': a checkpoint has to be a file.", path);
    if (!status) {
        const size_t length = fread(bytes, 1, CHECKPOINT_HEAD + CHECKPOINT_TEXT, file->stream);
        status = ti_checkpoint_read_head(path, bytes, length, (uint64_t)about.st_size, head, &used, error);
    }
    free(bytes);
    if (!status) status = check_sum(file, (uint64_t)about.st_size, error);
    if (!status && fseek(file->stream, (long)used, SEEK_SET) != 0)
        status = ti_fail(error, TITHE_E_FILE, 0, "Cannot read '%.140s': %s.", path, strerror(errno));
    if (status) ti_checkpoint_close(file);
    return status;
}
