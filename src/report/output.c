/* output.c - a whole file or none. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/status.h"
#include "tithe/trace.h"

/* 0, or the errno of what went wrong. Closes in any case. */
static int write_and_close(int descriptor, const char *bytes, size_t size, bool sync)
{
    int reason = 0;
    while (!reason && size > 0) {
        const ssize_t put = write(descriptor, bytes, size);
        if (put >= 0) {
            bytes += put;
            size -= (size_t)put;
        } else if (errno != EINTR) {
            reason = errno;
        }
    }
    /* Without this a crash soon after the rename could leave an empty file where a page was. */
    if (!reason && sync && fsync(descriptor) != 0 && errno != EINVAL) reason = errno;
    if (close(descriptor) != 0 && !reason) reason = errno;
    return reason;
}

static int write_straight(const char *path, const char *bytes, size_t size)
{
    const int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    return descriptor < 0 ? errno : write_and_close(descriptor, bytes, size, false);
}

static int write_beside(const char *path, const struct stat *old, const char *bytes, size_t size)
{
    char *beside;
    int reason = 0;
    ti_beside_sweep(path);
    const int descriptor = ti_beside_create(path, &beside);
    if (descriptor < 0) {
        reason = errno;
    } else {
        /* A file that is replaced keeps its permissions; where that is not allowed the new ones will do. */
        if (old && fchmod(descriptor, old->st_mode & 07777) != 0) errno = 0;
        reason = write_and_close(descriptor, bytes, size, true);
        if (!reason && rename(beside, path) != 0) reason = errno;
        if (reason) unlink(beside);
    }
    free(beside);
    return reason;
}

tithe_status tithe_output_write(const char *path, const void *bytes, size_t size, tithe_error *error)
{
    struct stat about;
    if (!path || (!bytes && size))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A file needs a path and bytes.");
    const bool standard = strcmp(path, "-") == 0, exists = !standard && stat(path, &about) == 0;
    int reason;
    if (standard) {
        const int descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
        reason = descriptor < 0 ? errno : write_and_close(descriptor, bytes, size, false);
    } else if (exists && !S_ISREG(about.st_mode)) {
        reason = write_straight(path, bytes, size);
    } else {
        /* Through a symbolic link it is the file behind it that is replaced, not the link. */
        char *behind = exists ? realpath(path, NULL) : NULL;
        reason = write_beside(behind ? behind : path, exists ? &about : NULL, bytes, size);
        free(behind);
    }
    if (!reason) return TITHE_OK;
    return ti_fail(error, TITHE_E_FILE, 0, "Cannot write '%.140s': %s.", standard ? "standard output" : path,
                   strerror(reason));
}
