/* beside.c - see beside.h. */
#include "base/beside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char suffix[] = ".part";

int ti_beside_create(const char *path, char **name)
{
    const size_t room = strlen(path) + 32;
    char *beside = malloc(room);
    *name = beside;
    if (!beside) return -1;
    snprintf(beside, room, "%s.%ld%s", path, (long)getpid(), suffix);
    int file = -1;
    for (int tries = 0; tries < 3 && file < 0; tries++) {
        file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        /* The number is ours, so it was left by one who had it before, or put there to mislead us. */
        if (file < 0 && (errno != EEXIST || unlink(beside) != 0)) break;
    }
    if (file >= 0) return file;
    const int reason = errno;
    free(beside);
    *name = NULL;
    errno = reason;
    return -1;
}

/* Is it "FILE.PROCESS.part" of a process that is gone? */
static bool is_left(const char *entry, const char *file)
{
    const size_t length = strlen(file);
    if (strncmp(entry, file, length) != 0 || entry[length] != '.') return false;
    char *end;
    const long process = strtol(entry + length + 1, &end, 10);
    return process > 0 && strcmp(end, suffix) == 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

void ti_beside_sweep(const char *path)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    char *folder = strdup(path);
    if (!folder) return;
    if (slash) folder[slash - path + (slash == path)] = 0;
    DIR *all = opendir(slash ? folder : ".");
    for (const struct dirent *entry; all && (entry = readdir(all));) {
        struct stat about;
        if (is_left(entry->d_name, file) &&
            fstatat(dirfd(all), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 && about.st_uid == geteuid())
            unlinkat(dirfd(all), entry->d_name, 0);
    }
    if (all) closedir(all);
    free(folder);
}
