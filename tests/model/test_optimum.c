/* test_optimum.c - the minimum: certified, equal to the closed form where there is one, found for weak penalties too;
 * and a cache that is used when it is sound and ignored when it is not. */
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "model/problems.h"

static tithe_optimum minimum(const tithe_problem *p, const char *cache, double *x)
{
    tithe_optimum o = {.x = x};
    tithe_error error = {0};
    if (tithe_problem_optimum(p, NULL, cache, &o, &error)) fail_msg("%s", error.text);
    return o;
}

/* ---- the minimum ----------------------------------------------------------------------------------------- */

static void expect_certified(const tithe_problem *p)
{
    double *x = numbers(p->size), *g = numbers(p->size), square = 0;
    const tithe_optimum o = minimum(p, "", x);
    expect(o.certified && !o.cached, "l2 = %g: not certified, slack %g after %u iterations", p->l2, o.slack,
           o.iterations);
    assert_true(tithe_problem_loss(p, NULL, x, g, NULL) == o.loss);
    for (size_t i = 0; i < p->size; i++) square += g[i] * g[i];
    assert_true(square / (2 * p->l2) <= 1e-12 && o.slack <= 1e-12);
    for (uint64_t trial = 0; trial < 20; trial++) { /* and nothing near by is lower */
        double *y = random_point(p->size, pow(10, -(double)(trial % 6)), trial);
        for (size_t i = 0; i < p->size; i++) y[i] += x[i];
        assert_true(tithe_problem_loss(p, NULL, y, NULL, NULL) >= o.loss - 1e-12);
        free(y);
    }
    free(x);
    free(g);
}

static void minima_are_certified(void **state)
{
    (void)state;
    static const data_wanted wanted[] = {
        {300, 20, 4, TITHE_TASK_BINARY, .seed = 1},
        {60, 200, 3, TITHE_TASK_BINARY,
         .seed = 2}, /* can be separated: weak penalties put the minimum far out */
        {200, 30, 5, TITHE_TASK_BINARY, true, .density = 1, .seed = 3},
        {100, 30, 5, TITHE_TASK_BINARY, true, .density = 0.5, .scale = 30, .seed = 4},
        {100, 1, 5, TITHE_TASK_BINARY, true, .density = 1, .seed = 5},
        {1, 3, 1, TITHE_TASK_BINARY, true, .density = 1, .seed = 6},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        tithe_data *data = data_make(wanted[i]);
        for (double l2 = 1; l2 > 0.9e-7; l2 /= 10) {
            const tithe_problem p = problem_of("logistic", data, l2);
            expect_certified(&p);
        }
        data_drop(data);
    }
}

static bool count_down(void *context)
{
    unsigned *left = context;
    return *left && --*left;
}

static void a_search_ends_when_it_is_told_to(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){300, 20, 4, TITHE_TASK_BINARY, .seed = 1});
    const tithe_problem p = problem_of("logistic", data, 1e-6);
    double *x = numbers(p.size);
    for (unsigned asked = 1; asked < 6; asked++) { /* nothing that is half done gets into the cache either */
        unsigned left = asked;
        tithe_optimum o = {.x = x, .go_on = count_down, .context = &left};
        assert_int_equal(tithe_problem_optimum(&p, NULL, NULL, &o, NULL), TITHE_OK);
        assert_true(!o.certified && isnan(o.loss) && !o.cached && left == 0 && o.iterations <= asked);
    }
    assert_true(minimum(&p, "", x).certified);
    free(x);
    data_drop(data);
}

/* (A'A/N + l2) x = A'b/N, by elimination. */
static void least_squares_has_its_closed_form(void **state)
{
    (void)state;
    enum { D = 15, ROWS = 60 };
    tithe_data *data = data_make((data_wanted){ROWS, D, 3, TITHE_TASK_NUMBER, .seed = 7});
    for (double l2 = 1; l2 > 1e-5; l2 /= 10) {
        const tithe_problem p = problem_of("least-squares", data, l2);
        long double m[D][D + 1] = {{0}};
        for (size_t i = 0; i < D; i++) {
            for (size_t r = 0; r < ROWS; r++) {
                const long double a = (long double)value_at(data, r, i) / ROWS;
                for (size_t j = 0; j < D; j++) m[i][j] += a * (long double)value_at(data, r, j);
                m[i][D] += a * (long double)data->labels[r];
            }
            m[i][i] += (long double)l2;
        }
        for (size_t i = 0; i < D; i++)
            for (size_t r = 0; r < D; r++) {
                if (r == i) continue;
                const long double times = m[r][i] / m[i][i];
                for (size_t j = i; j <= D; j++) m[r][j] -= times * m[i][j];
            }
        double x[D];
        const tithe_optimum o = minimum(&p, "", x);
        assert_true(o.certified);
        for (size_t i = 0; i < D; i++) /* |x - x*|^2 <= 2 slack / l2 */
            assert_true(fabsl((long double)x[i] - m[i][D] / m[i][i]) <= sqrtl(2e-12L / (long double)l2));
    }
    data_drop(data);
}

static void without_convexity_there_is_no_certificate(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){30, 4, 2, TITHE_TASK_BINARY, .seed = 1});
    double x[4] = {1, 2, 3, 4};
    for (int i = 0; i < 2; i++) {
        const tithe_problem p = problem_of(i ? "nonconvex-logistic" : "logistic", data, i ? 0.1 : 0);
        const tithe_optimum o = minimum(&p, "", x);
        assert_true(!o.certified && isnan(o.loss) && isnan(o.slack) && x[1] == 2);
    }
    tithe_data share = *data;
    share.workers = 5;
    const tithe_problem p = problem_of("logistic", &share, 0.1);
    tithe_optimum o = {.x = x};
    assert_int_equal(tithe_problem_optimum(&p, NULL, "", &o, NULL), TITHE_E_ARGUMENT);
    data_drop(data);
}

/* ---- the cache ------------------------------------------------------------------------------------------- */

static char place[64], deep[96];

static int make_place(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "%s", "/tmp/tithe-test-XXXXXX");
    if (!mkdtemp(place)) return 1;
    snprintf(deep, sizeof deep, "%s/a/b", place);
    return 0;
}

/* How many files there are in `deep`, and the path of one. */
static int look_for_files(char *path, size_t size)
{
    DIR *directory = opendir(deep);
    int files = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        if (path) snprintf(path, size, "%s/%.80s", deep, entry->d_name);
        files++;
    }
    if (directory) closedir(directory);
    return files;
}

static void clear_files(void)
{
    char path[256];
    while (look_for_files(path, sizeof path)) remove(path);
}

static int drop_place(void **state)
{
    (void)state;
    char above[96];
    clear_files();
    snprintf(above, sizeof above, "%.60s/a", place);
    return rmdir(deep) | rmdir(above) | rmdir(place);
}

static void change_byte(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, -1, SEEK_CUR);
    fputc(byte ^ 1, file);
    fclose(file);
}

static void the_cache_is_used_and_damage_is_noticed(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){100, 10, 2, TITHE_TASK_BINARY, .seed = 1});
    tithe_problem p = problem_of("logistic", data, 0.01);
    double x[10], y[10];
    char path[256];
    const tithe_optimum first = minimum(&p, deep, x), second = minimum(&p, deep, y);
    assert_true(first.certified && !first.cached && second.certified && second.cached);
    assert_true(first.loss == second.loss && first.slack == second.slack &&
                first.iterations == second.iterations);
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(look_for_files(path, sizeof path), 1); /* nothing unfinished stays behind */

    /* Called after the head, without the iterations: what another hash named is not found, and found anew. */
    uint8_t head[40 + sizeof p.spec];
    char name[64];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    fclose(file);
    memset(head + 12, 0, 4);
    snprintf(name, sizeof name, "/optimum-%016llx", (unsigned long long)XXH3_64bits(head, sizeof head));
    assert_string_equal(strrchr(path, '/'), name);

    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    for (long at = 0; at < status.st_size; at += 7) { /* any byte; it is written anew each time */
        change_byte(path, at);
        assert_false(minimum(&p, deep, y).cached);
        assert_memory_equal(x, y, sizeof x);
    }
    assert_int_equal(truncate(path, status.st_size - 1), 0);
    assert_false(minimum(&p, deep, y).cached);
    assert_int_equal(truncate(path, status.st_size + 1), 0);
    assert_false(minimum(&p, deep, y).cached);
    assert_int_equal(truncate(path, 0), 0);
    assert_false(minimum(&p, deep, y).cached);
    assert_true(minimum(&p, deep, y).cached);
    clear_files();
    data_drop(data);
}

/* In a place where others may write. A pipe under the name would wait for ever, and a link beside it would be written through. */
static void what_is_planted_in_the_cache_does_no_harm(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){100, 10, 2, TITHE_TASK_BINARY, .seed = 1});
    const tithe_problem p = problem_of("logistic", data, 0.01);
    double x[10], y[10];
    char path[256], precious[128], text[16] = "";
    minimum(&p, deep, x);
    assert_int_equal(look_for_files(path, sizeof path), 1);
    assert_true(remove(path) == 0 && mkfifo(path, 0600) == 0);
    assert_false(minimum(&p, deep, y).cached);
    assert_true(minimum(&p, deep, y).cached); /* in place of the pipe */

    snprintf(precious, sizeof precious, "%.60s/precious", place);
    FILE *file = fopen(precious, "w");
    assert_true(file && fputs("precious", file) >= 0 && fclose(file) == 0);
    assert_true(remove(path) == 0 && symlink(precious, path) == 0);
    assert_false(minimum(&p, deep, y).cached);
    assert_true(minimum(&p, deep, y).cached);
    file = fopen(precious, "r");
    assert_true(file && fgets(text, sizeof text, file) && fclose(file) == 0);
    assert_string_equal(text, "precious");
    assert_int_equal(look_for_files(path, sizeof path), 1);
    assert_memory_equal(x, y, sizeof x);
    remove(precious);
    clear_files();
    data_drop(data);
}

/* All of them find the whole file or none: nobody sees a part of it, and nothing stays behind. */
static void processes_share_the_cache(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){100, 10, 2, TITHE_TASK_BINARY, .seed = 1});
    const tithe_problem p = problem_of("logistic", data, 0.01);
    double x[10], y[10];
    minimum(&p, "", x);
    pid_t children[4];
    for (int c = 0; c < 4; c++)
        if ((children[c] = fork()) == 0) {
            int wrong = 0;
            for (int i = 0; i < 25; i++) {
                minimum(&p, deep, y);
                wrong |= memcmp(x, y, sizeof x) != 0;
                char path[256];
                if (i % 5 == c % 5 && look_for_files(path, sizeof path)) remove(path);
            }
            _exit(wrong);
        }
    for (int c = 0; c < 4; c++) {
        int status = -1;
        assert_true(waitpid(children[c], &status, 0) == children[c] && status == 0);
    }
    minimum(&p, deep, y);
    assert_true(minimum(&p, deep, y).cached && memcmp(x, y, sizeof x) == 0);
    assert_int_equal(look_for_files(NULL, 0), 1);
    clear_files();
    data_drop(data);
}

/* A sound file that is no minimum of these data: as after a clash of hashes. */
static void a_cached_point_has_to_be_a_minimum(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){100, 10, 2, TITHE_TASK_BINARY, .seed = 1});
    tithe_data *other = data_make((data_wanted){100, 10, 2, TITHE_TASK_BINARY, .seed = 2});
    other->hash = data->hash;
    const tithe_problem p = problem_of("logistic", data, 0.01), q = problem_of("logistic", other, 0.01);
    double x[10], y[10], z[10];
    minimum(&p, deep, x);
    const tithe_optimum o = minimum(&q, deep, y);
    assert_true(o.certified && !o.cached);
    assert_true(minimum(&q, "", z).loss == o.loss);
    clear_files();
    data_drop(data);
    data_drop(other);
}

static void the_key_is_data_model_and_l2(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){100, 10, 2, TITHE_TASK_BINARY, .seed = 1});
    tithe_data renamed = *data;
    renamed.hash ^= 1;
    const tithe_problem problems[] = {
        problem_of("logistic", data, 0.01), problem_of("least-squares", data, 0.01),
        problem_of("logistic", data, nextafter(0.01, 1)), problem_of("logistic", &renamed, 0.01)};
    double x[10];
    for (int i = 0; i < 4; i++) assert_false(minimum(&problems[i], deep, x).cached);
    for (int i = 0; i < 4; i++) assert_true(minimum(&problems[i], deep, x).cached);
    assert_int_equal(look_for_files(NULL, 0), 4);
    clear_files();
    data_drop(data);
}

static void a_place_that_cannot_be_is_no_failure(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){50, 5, 2, TITHE_TASK_BINARY, .seed = 1});
    const tithe_problem p = problem_of("logistic", data, 0.01);
    double x[5];
    assert_true(minimum(&p, "/dev/null/nowhere", x).certified);
    char *longest = malloc(9000);
    memset(longest, 'x', 8999);
    longest[8999] = 0;
    assert_true(minimum(&p, longest, x).certified);
    free(longest);
    data_drop(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minima_are_certified),
        cmocka_unit_test(a_search_ends_when_it_is_told_to),
        cmocka_unit_test(least_squares_has_its_closed_form),
        cmocka_unit_test(without_convexity_there_is_no_certificate),
        cmocka_unit_test(the_cache_is_used_and_damage_is_noticed),
        cmocka_unit_test(what_is_planted_in_the_cache_does_no_harm),
        cmocka_unit_test(processes_share_the_cache),
        cmocka_unit_test(a_cached_point_has_to_be_a_minimum),
        cmocka_unit_test(the_key_is_data_model_and_l2),
        cmocka_unit_test(a_place_that_cannot_be_is_no_failure),
    };
    return cmocka_run_group_tests(tests, make_place, drop_place);
}
