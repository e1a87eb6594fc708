/* replay.c - gives a fuzz target a plain main, so that its corpus runs in every test run.
 *
 * usage: replay_<name> DIRECTORY...
 * Feeds every file of the directories to LLVMFuzzerTestOneInput, in the order of their names. A missing or empty
 * directory is a failure: a corpus that is not there would otherwise pass for one without crashes. */
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The buffer has exactly the size of the file, so that a sanitizer sees the first byte read beyond it. */
static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        fprintf(stderr, "replay: cannot read %s: %s\n", path, strerror(errno));
        if (f) fclose(f);
        return 1;
    }
    const long end = ftell(f);
    const size_t size = end > 0 ? (size_t)end : 0;
    uint8_t *data = malloc(size);
    rewind(f);
    const int failed = (size > 0 && !data) || fread(data, 1, size, f) != size;
    if (failed)
        fprintf(stderr, "replay: cannot read all %zu bytes of %s\n", size, path);
    else
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    fclose(f);
    return failed;
}

static int is_visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int replay_directory(const char *dir)
{
    struct dirent **list = NULL;
    const int n = scandir(dir, &list, is_visible, alphasort);
    if (n <= 0) {
        fprintf(stderr, "replay: %s: %s\n", dir, n == 0 ? "the corpus is empty" : strerror(errno));
        free(list);
        return 1;
    }
    int failed = 0;
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
        puts(path); /* the last name printed is the one that crashed */
        fflush(stdout);
        failed |= replay_file(path);
        free(list[i]);
    }
    free(list);
    printf("replay: %d files from %s\n", n, dir);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s DIRECTORY...\n", argv[0]);
        return 2;
    }
    int failed = 0;
    for (int i = 1; i < argc; i++) failed |= replay_directory(argv[i]);
    return failed;
}
