/* test_beside.c - a file that is written beside another: it is always a new one, and what the dead have left goes away. */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "support.h"

static char folder[64];

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static const char *part_of(const char *file, long process)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%ld.part", file, process);
    return path_of(name);
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

static void create(const char *file)
{
    char *name;
    const int made = ti_beside_create(path_of(file), &name);
    assert_true(made >= 0 && write(made, "new", 3) == 3);
    close(made);
    assert_string_equal(name, part_of(file, getpid()));
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
    assert_int_equal(symlink(path_of("precious"), part_of("file", getpid())), 0);
    create("file");
    FILE *f = fopen(path_of("precious"), "r");
    assert_true(f && fgets(text, sizeof text, f));
    fclose(f);
    assert_string_equal(text, "precious");
    put(part_of("file", getpid()), "of one who had our number"); /* nor is a file that is there written to */
    create("file");
    char *name;
    assert_true(ti_beside_create(path_of("none/file"), &name) < 0 && name == NULL);
}

static void leftovers_go(void **state)
{
    (void)state;
    const long dead = dead_process();
    const char *kept[] = {part_of("file", getpid()), part_of("files", dead), path_of("file.1x.part")};
    put(part_of("file", dead), "half");
    for (unsigned i = 0; i < 3; i++) put(kept[i], "whole");
    ti_beside_sweep(path_of("file"));
    assert_false(is_there(part_of("file", dead)));
    assert_true(is_there(part_of("file", getpid())) && is_there(part_of("files", dead)) &&
                is_there(path_of("file.1x.part")));
    ti_beside_sweep("/no/such/folder/file");
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
        cmocka_unit_test(leftovers_go),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
