/* files.c - see files.h. */
#define _XOPEN_SOURCE 700
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"
#include "tithe/trace.h"

bool file_is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *file_input_name(const char *path)
{
    return file_is_standard(path) ? "standard input" : path;
}

/* Read to the end, growing as needed: a pipe does not say how long it is, and a file may grow meanwhile. */
static bool read_all(int descriptor, size_t expected, uint8_t **data, size_t *size)
{
    size_t capacity = expected + 1, used = 0; /* one more, to see the end without growing */
    uint8_t *memory = malloc(capacity);
    while (memory) {
        if (used == capacity) {
            uint8_t *larger = capacity <= SIZE_MAX / 2 ? realloc(memory, capacity * 2) : NULL;
            if (!larger) break;
            memory = larger;
            capacity *= 2;
        }
        const ssize_t got = read(descriptor, memory + used, capacity - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            const int reason = errno;
            free(memory);
            errno = reason;
            return false;
        }
        if (got == 0) {
            *data = memory;
            *size = used;
            return true;
        }
        used += (size_t)got;
    }
    free(memory);
    errno = ENOMEM;
    return false;
}

bool file_read(const char *path, uint8_t **data, size_t *size)
{
    const bool standard = file_is_standard(path);
    const int descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY);
    struct stat about;
    bool fine = descriptor >= 0 && fstat(descriptor, &about) == 0;
    if (fine) {
        const bool sized = S_ISREG(about.st_mode) && about.st_size > 0;
        fine = read_all(descriptor, sized ? (size_t)about.st_size : 65536, data, size);
    }
    if (!fine) text_fail("Cannot read '%s': %s", file_input_name(path), strerror(errno));
    if (descriptor >= 0 && !standard) close(descriptor);
    return fine;
}

bool file_write(const char *path, const void *data, size_t size)
{
    tithe_error error = {0};
    if (file_is_standard(path) && fflush(stdout) != 0) { /* what was printed before comes first */
        text_fail("Cannot write 'standard output': %s", strerror(errno));
        return false;
    }
    const tithe_status status = tithe_output_write(path, data, size, &error);
    if (status) text_fail("%s", error.text);
    return !status;
}

/* A file is renamed into its folder, so it is the folder that must be writable. */
bool file_can_write(const char *path)
{
    struct stat about;
    const bool exists = stat(path, &about) == 0;
    int reason = 0;
    if (exists && S_ISDIR(about.st_mode)) {
        reason = EISDIR;
    } else if (exists && !S_ISREG(about.st_mode)) {
        if (access(path, W_OK) != 0) reason = errno;
    } else {
        char *folder = text_copy(path);
        char *slash = strrchr(folder, '/');
        if (slash) slash[slash == folder] = 0;
        if (access(slash ? folder : ".", W_OK | X_OK) != 0) reason = errno;
        free(folder);
    }
    if (reason) text_fail("Cannot write '%s': %s", path, strerror(reason));
    return !reason;
}

/* One that takes all that comes, such as /dev/null. */
static bool is_device(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISCHR(about.st_mode);
}

static bool about_place(const char *path, struct stat *about)
{
    return (file_is_standard(path) ? fstat(STDOUT_FILENO, about) : stat(path, about)) == 0;
}

/* The folder as it really is, and the name in it: what tells files apart that are not there yet. */
static char *whole_path(const char *path)
{
    char *folder = text_copy(path), *slash = strrchr(folder, '/'), whole[2 * PATH_MAX];
    const char *name = slash ? path + (slash - folder) + 1 : path;
    if (slash) slash[slash == folder] = 0;
    char *real = realpath(slash ? folder : ".", NULL);
    snprintf(whole, sizeof whole, "%s/%s", real ? real : "", name);
    free(real);
    free(folder);
    return text_copy(whole);
}

/* Whatever they are called: ./run.csv, a link to it, or /dev/stdout. */
static bool is_same_place(const char *a, const char *b)
{
    struct stat one, other;
    const bool first = about_place(a, &one), second = about_place(b, &other);
    if (first && second) return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    if (first || second) return false;
    char *left = whole_path(a), *right = whole_path(b);
    const bool same = strcmp(left, right) == 0;
    free(left);
    free(right);
    return same;
}

bool file_outputs(const file_output *outputs, bool *taken)
{
    *taken = false;
    for (const file_output *o = outputs; o->option; o++) {
        if (!o->path) continue;
        const bool standard = file_is_standard(o->path);
        if (!standard && !o->in_place && !file_can_write(o->path)) return false;
        for (const file_output *other = outputs; other < o; other++) {
            if (!other->path || !is_same_place(other->path, o->path) || is_device(o->path)) continue;
            text_fail("%s and %s cannot both be %s: name a file of its own for one of them", other->option,
                      o->option, standard ? "standard output" : o->path);
            return false;
        }
        *taken = *taken || is_same_place("-", o->path);
    }
    return true;
}
