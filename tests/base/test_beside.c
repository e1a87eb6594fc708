/* test_beside.c - a file that is written beside another: it is always a new one, and what the dead have left goes away. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/beside.h"
#include "support.h"

static char folder[64];

static const char *path_of(const char *name)
{
    static char paths[8][192];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* What the n-th file of a process on a host is called. */
static const char *part_at(const char *file, long process, unsigned n, const char *host)
{
    char name[128];
    snprintf(name, sizeof name, "%.16s.%ld-%u@%.64s.part", file, process, n, host);
    return path_of(name);
}

static const char *part_of(const char *file, long process, unsigned n)
{
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    return part_at(file, process, n, host);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static bool is_there(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0;
}

static long dead_process(void)
{
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    return child;
}

static unsigned created; /* so far, by this process */

static void create(const char *file)
{
    char *name;
    const int made = ti_beside_create(path_of(file), &name);
    assert_true(made >= 0 && write(made, "new", 3) == 3);
    close(made);
    assert_string_equal(name, part_of(file, getpid(), created++));
    struct stat about;
    assert_true(lstat(name, &about) == 0 && S_ISREG(about.st_mode) && about.st_size == 3);
    unlink(name);
    free(name);
}

static void a_planted_link_is_not_followed(void **state)
{
    (void)state;
    char text[16] = "";
    put(path_of("precious"), "precious");
    assert_int_equal(symlink(path_of("precious"), part_of("file", getpid(), created)), 0);
    create("file");
    FILE *f = fopen(path_of("precious"), "r");
    assert_true(f && fgets(text, sizeof text, f));
    fclose(f);
    assert_string_equal(text, "precious");
    put(part_of("file", getpid(), created),
        "of one who had our number"); /* nor is a file that is there written to */
    create("file");
    char *name;
    assert_true(ti_beside_create(path_of("none/file"), &name) < 0 && name == NULL);
    created++;
}

/* As two threads do that look for the same minimum. */
static void two_at_once_have_a_file_each(void **state)
{
    (void)state;
    char *names[2];
    int files[2];
    for (int i = 0; i < 2; i++) assert_true((files[i] = ti_beside_create(path_of("file"), &names[i])) >= 0);
    assert_string_not_equal(names[0], names[1]);
    for (int i = 0; i < 2; i++) {
        assert_true(is_there(names[i]));
        close(files[i]);
        unlink(names[i]);
        free(names[i]);
    }
    created += 2;
}

static void leftovers_go(void **state)
{
    (void)state;
    const long dead = dead_process();
    const char *kept[] = {part_of("file", getpid(), 0), part_of("files", dead, 0), path_of("file.1x.part"),
                          path_of("file.1-@.part"), path_of("file.part")};
    put(part_of("file", dead, 7), "half");
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++) put(kept[i], "whole");
    ti_beside_sweep(path_of("file"));
    assert_false(is_there(part_of("file", dead, 7)));
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
        expect(is_there(kept[i]), "%s is gone", kept[i]);
    ti_beside_sweep("/no/such/folder/file");
}

/* A number that nobody has here may be that of a process on another host, which is still writing. */
static void files_of_other_hosts_have_a_day(void **state)
{
    (void)state;
    const char *fresh = part_at("file", dead_process(), 0, "elsewhere"),
               *old = part_at("file", 1, 0, "elsewhere");
    put(fresh, "half");
    put(old, "half");
    const struct timespec then[2] = {{time(NULL) - 2 * 24 * 3600, 0}, {time(NULL) - 2 * 24 * 3600, 0}};
    assert_int_equal(utimensat(AT_FDCWD, old, then, 0), 0);
    ti_beside_sweep(path_of("file"));
    assert_true(is_there(fresh) && !is_there(old));
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tithe-beside-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_planted_link_is_not_followed),
        cmocka_unit_test(two_at_once_have_a_file_each),
        cmocka_unit_test(leftovers_go),
        cmocka_unit_test(files_of_other_hosts_have_a_day),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
