/* optimum_cache.c - minima that were found before, a file each.
 *
 *   bytes 0-7    "TITHEOPT"
 *   u32          version
 *   u32          iterations
 *   u64          hash of the data set
 *   f64          l2
 *   128 bytes    spec of the model, padded with zeros
 *   u64          how many numbers
 *   f64 each     x
 *   u32          CRC-32C of all before it
 *
 * All numbers are little-endian. The name holds the XXH3 of the head without its iterations, so that a wrong file is
 * not even opened; the head is compared nevertheless. A file appears under its name when it is complete (base/beside.h), so that any
 * number of processes may look for the same minimum at once; what is no plain file is neither read nor waited for. Neither the
 * order of the rows nor the number of workers is part of the key: they change the minimum by less than its slack. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/beside.h"
#include "base/bytes.h"
#include "model/optimum.h"
#include "tithe/frame.h"

enum {
    VERSION = 1,
    AT_ITERATIONS = 12, /* is no part of the key */
    SPEC = sizeof((tithe_problem *)NULL)->spec,
    HEAD = 8 + 4 + 4 + 8 + 8 + SPEC + 8,
    LONGEST_PATH = 4096
};

static void write_head(const tithe_problem *p, unsigned iterations, uint8_t head[HEAD])
{
    memset(head, 0, HEAD);
    memcpy(head, "TITHEOPT", 8);
    put_u32(head + 8, VERSION);
    put_u32(head + AT_ITERATIONS, iterations);
    put_u64(head + 16, p->data->hash);
    put_f64(head + 24, p->l2);
    memcpy(head + 32, p->spec, strnlen(p->spec, SPEC));
    put_u64(head + 32 + SPEC, p->size);
}

static bool name_directory(const char *directory, char *path)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (directory)
        length = *directory ? snprintf(path, LONGEST_PATH, "%s", directory) : -1;
    else if (cache && *cache == '/')
        length = snprintf(path, LONGEST_PATH, "%s/tithe", cache);
    else if (home && *home)
        length = snprintf(path, LONGEST_PATH, "%s/.cache/tithe", home);
    return length > 0 && length < LONGEST_PATH;
}

static bool name_file(const tithe_problem *p, const char *directory, char *path)
{
    if (!name_directory(directory, path)) return false;
    uint8_t head[HEAD];
    write_head(p, 0, head);
    const size_t used = strlen(path);
    const int more =
        snprintf(path + used, LONGEST_PATH - used, "/optimum-%016" PRIx64, (uint64_t)XXH3_64bits(head, HEAD));
    return more > 0 && (size_t)more < LONGEST_PATH - used;
}

static size_t file_bytes(const tithe_problem *p)
{
    return HEAD + 8 * p->size + 4;
}

/* The whole file, if it has exactly `bytes` of them. */
static bool read_whole(const char *path, uint8_t *dst, size_t bytes)
{
    const int descriptor =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for its writer */
    if (descriptor < 0) return false;
    struct stat about;
    bool ok = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && (uintmax_t)about.st_size == bytes;
    for (size_t done = 0; ok && done < bytes;) {
        const ssize_t more = read(descriptor, dst + done, bytes - done);
        ok = more > 0;
        done += ok ? (size_t)more : 0;
    }
    close(descriptor);
    return ok;
}

bool ti_optimum_read(const tithe_problem *p, const char *directory, double *x, unsigned *iterations)
{
    char path[LONGEST_PATH];
    if (!name_file(p, directory, path)) return false;
    const size_t bytes = file_bytes(p);
    uint8_t *content = malloc(bytes), head[HEAD];
    bool ok = content && read_whole(path, content, bytes) &&
              get_u32(content + bytes - 4) == tithe_crc32c(content, bytes - 4);
    if (ok) {
        write_head(p, get_u32(content + AT_ITERATIONS), head);
        ok = memcmp(head, content, HEAD) == 0;
    }
    if (ok) {
        for (size_t i = 0; i < p->size; i++) x[i] = get_f64(content + HEAD + 8 * i);
        *iterations = get_u32(content + AT_ITERATIONS);
    }
    free(content);
    return ok;
}

/* The directory and those above it; whether it worked shows when the file is opened. */
static void make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700); /* as the XDG base directories want it */
        *slash = '/';
    }
}

static bool write_whole(int file, const uint8_t *content, size_t bytes)
{
    bool ok = true;
    for (size_t done = 0; ok && done < bytes;) {
        const ssize_t more = write(file, content + done, bytes - done);
        ok = more > 0;
        done += ok ? (size_t)more : 0;
    }
    return (close(file) == 0) & ok;
}

void ti_optimum_write(const tithe_problem *p, const char *directory, const double *x, unsigned iterations)
{
    char path[LONGEST_PATH], *beside;
    if (!name_file(p, directory, path)) return;
    const size_t bytes = file_bytes(p);
    uint8_t *content = malloc(bytes);
    if (!content) return;
    write_head(p, iterations, content);
    for (size_t i = 0; i < p->size; i++) put_f64(content + HEAD + 8 * i, x[i]);
    put_u32(content + bytes - 4, tithe_crc32c(content, bytes - 4));

    make_directories(path);
    ti_beside_sweep(path);
    const int file = ti_beside_create(path, &beside);
    if (file >= 0 && (!write_whole(file, content, bytes) || rename(beside, path))) unlink(beside);
    free(beside);
    free(content);
}
