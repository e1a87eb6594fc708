/* beside.c - see beside.h. */
#include "base/beside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_HOST = 64, A_DAY = 24 * 60 * 60 };
static const char suffix[] = ".part";

static void name_host(char host[LONGEST_HOST + 1])
{
    if (gethostname(host, LONGEST_HOST) != 0) host[0] = 0;
    host[LONGEST_HOST] = 0;
    for (char *c = host; *c; c++)
        if (*c == '/') *c = '_';
}

int ti_beside_create(const char *path, char **name)
{
    static atomic_uint made;
    char host[LONGEST_HOST + 1];
    name_host(host);
    const size_t room = strlen(path) + strlen(host) + 64;
    char *beside = malloc(room);
    *name = beside;
    if (!beside) return -1;
    snprintf(beside, room, "%s.%ld-%u@%s%s", path, (long)getpid(), atomic_fetch_add(&made, 1), host, suffix);
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

/* Is it "FILE.PROCESS-NUMBER@HOST.part" of a process that is gone? */
static bool is_left(const char *entry, const char *file, time_t changed)
{
    const size_t length = strlen(file), all = strlen(entry), end = sizeof suffix - 1;
    char host[LONGEST_HOST + 1], *at;
    if (strncmp(entry, file, length) != 0 || entry[length] != '.') return false;
    const long process = strtol(entry + length + 1, &at, 10);
    if (process <= 0 || *at != '-' || strtol(at + 1, &at, 10) < 0 || *at != '@') return false;
    if (all < end || strcmp(entry + all - end, suffix) != 0) return false;
    name_host(host);
    const size_t of_host = (size_t)(entry + all - end - (at + 1));
    if (of_host == strlen(host) && memcmp(at + 1, host, of_host) == 0)
        return kill((pid_t)process, 0) != 0 && errno == ESRCH;
    return time(NULL) - changed > A_DAY;
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
        if (fstatat(dirfd(all), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            about.st_uid == geteuid() && is_left(entry->d_name, file, about.st_mtime))
            unlinkat(dirfd(all), entry->d_name, 0);
    }
    if (all) closedir(all);
    free(folder);
}
