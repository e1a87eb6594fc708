/* test_libsvm.c - LIBSVM text: known answers, every way to be wrong, numbers against the C library's, and the
 * same content from compressed files, whole and cut. */
#include <archive.h>
#include <archive_entry.h>

#include "comma.h"
#include "data/kit.h"
#include "data/number.h"

/* ---- known answers ------------------------------------------------------------------------------------------------ */

static void a_small_file_is_read(void **state)
{
    (void)state;
    const char *path = kit_text("small", "+1 1:0.5 3:-2e-1 10:7\n-1 2:1\n-1\n+1 4:1e3 10:.25\n");
    tithe_data *d = kit_open(path);
    assert_int_equal(d->rows, 4);
    assert_int_equal(d->total_rows, 4);
    assert_int_equal(d->features, 10);
    assert_int_equal(d->nonzeros, 6);
    assert_int_equal(d->workers, 0);
    assert_string_equal(d->name, "small");
    const size_t offsets[] = {0, 3, 4, 4, 6};
    const uint32_t indices[] = {0, 2, 9, 1, 3, 9};
    const float values[] = {0.5f, -0.2f, 7, 1, 1000, 0.25f};
    const double labels[] = {1, -1, -1, 1};
    assert_memory_equal(d->offsets, offsets, sizeof offsets);
    assert_memory_equal(d->indices, indices, sizeof indices);
    assert_memory_equal(d->values, values, sizeof values);
    assert_memory_equal(d->labels, labels, sizeof labels);
    tithe_data_free(d);
}

static void spellings_that_mean_the_same(void **state)
{
    (void)state;
    tithe_data *plain = kit_open(kit_text("plain", "1 1:2 9:3\n0 4:5\n"));
    static const char *const others[] = {
        "1 1:2 9:3\n0 4:5",                                    /* no newline at the end */
        "1 1:2 9:3\r\n0 4:5\r\n",                              /* from another system */
        "1\t1:2\t9:3 \t\n0   4:5   \n",                        /* tabs, trailing blanks */
        "# a comment\n1 1:2 9:3 # of text\n\n  \n0 4:5#\n#\n", /* comments, blank lines */
        "\357\273\2771 1:2 9:3\n0 4:5\n",                      /* byte order mark */
        "1 qid:7 1:2 9:3\n0 qid:8 4:5\n",                      /* ranking data */
        "+1.0 01:2.0 09:+3\n-0 4:50e-1\n",                     /* other numbers */
        "1 1:2000e-3 9:0.00000000000000000000000000003e29\n0.0 4:5.00000000000000000000000\n",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        tithe_data *d = kit_open(kit_text("other", others[i]));
        expect(d->hash == plain->hash, "spelling %zu reads differently", i);
        tithe_data_free(d);
    }
    tithe_data_free(plain);
}

static void lines_longer_than_the_buffer(void **state)
{
    (void)state;
    enum { MANY = 400000, SIZE = MANY * 12 + 100 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, SIZE, "1 1:1\n-1");
    for (int i = 1; i <= MANY; i++) used += (size_t)snprintf(text + used, SIZE - used, " %d:1", 3 * i);
    snprintf(text + used, SIZE - used, "\n1 2:1");
    tithe_data *d = kit_open(kit_text("long", text));
    assert_int_equal(d->rows, 3);
    assert_int_equal(d->nonzeros, MANY + 2);
    assert_int_equal(d->features, 3 * MANY);
    assert_int_equal(d->indices[MANY], 3 * MANY - 1);
    assert_int_equal(d->indices[MANY + 1], 1);
    tithe_data_free(d);
    free(text);
}

static void full_rows_become_dense(void **state)
{
    (void)state;
    tithe_data *d = kit_open(kit_text("full", "1 1:1 2:2 3:3\n-1 1:4 3:6\n"));
    const float values[] = {1, 2, 3, 4, 0, 6};
    assert_null(d->offsets);
    assert_null(d->indices);
    assert_int_equal(d->nonzeros, 6);
    assert_memory_equal(d->values, values, sizeof values);
    tithe_data_free(d);
}

static void features_and_unit_rows(void **state)
{
    (void)state;
    const char *path = kit_text("unit", "1 1:3 7:4\n-1 2:1\n-1\n");
    tithe_data *d = kit_open_with(path, (tithe_data_options){.features = 20, .normalize_rows = true});
    assert_int_equal(d->features, 20);
    assert_float_equal(kit_value(d, 0, 0), 0.6, 1e-7);
    assert_float_equal(kit_value(d, 0, 6), 0.8, 1e-7);
    assert_float_equal(kit_value(d, 1, 1), 1, 0);
    tithe_data_free(d);
    kit_refused_with(path, (tithe_data_options){.features = 6}, TITHE_E_ARGUMENT, "7 features");
}

/* ---- labels ----------------------------------------------------------------------------------------------------------- */

static void expect_labels(const char *text, tithe_data_options options, const double *labels,
                          unsigned classes)
{
    tithe_data *d = kit_open_with(kit_text("labels", text), options);
    for (size_t i = 0; i < d->rows; i++)
        expect(d->labels[i] == labels[i], "label %zu is %g, not %g", i, d->labels[i], labels[i]);
    assert_int_equal(d->classes, classes);
    tithe_data_free(d);
}

static void labels_become_what_the_task_wants(void **state)
{
    (void)state;
    expect_labels("2 1:1\n1 1:1\n2 2:1\n", (tithe_data_options){0}, (double[]){1, -1, 1}, 0);
    expect_labels("0 1:1\n-5 1:1\n", (tithe_data_options){0}, (double[]){1, -1}, 0);
    expect_labels("2.5 1:1\n1e-3 1:1\n-7 2:1\n", (tithe_data_options){.task = TITHE_TASK_NUMBER},
                  (double[]){2.5, 1e-3, -7}, 0);
    expect_labels("30 1:1\n-1 1:1\n7 2:1\n30 1:1\n", (tithe_data_options){.task = TITHE_TASK_CLASSES},
                  (double[]){2, 0, 1, 2}, 3);
    static const struct {
        const char *positive;
        double labels[4];
    } cases[] = {
        {"label<=10", {1, 1, -1, -1}}, {"label<10", {1, -1, -1, -1}},      {"label>=10", {-1, 1, 1, 1}},
        {"label>10", {-1, -1, 1, 1}},  {"label==10", {-1, 1, -1, -1}},     {"label=10", {-1, 1, -1, -1}},
        {"label!=10", {1, -1, 1, 1}},  {" label <= 1e1 ", {1, 1, -1, -1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_labels("9 1:1\n10 1:1\n11 1:1\n12 1:1\n", (tithe_data_options){.positive = cases[i].positive},
                      cases[i].labels, 0);
}

static void labels_that_are_refused(void **state)
{
    (void)state;
    const char *path = kit_text("three", "1 1:1\n2 1:1\n3 1:1\n");
    kit_refused(path, TITHE_E_DATA, "three has more than two labels (1, 2, 3)");
    kit_refused(path, TITHE_E_DATA, "`positive=label<=10`");
    kit_refused_with(path, (tithe_data_options){.positive = "label<=0"}, TITHE_E_DATA, "holds for no label");
    kit_refused_with(path, (tithe_data_options){.positive = "label<=3"}, TITHE_E_DATA,
                     "holds for every label");
    static const char *const nonsense[] = {"",   "label",      "label<=", "label<=x",
                                           "10", "label<=1 2", "label~3", "label<=inf"};
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        kit_refused_with(path, (tithe_data_options){.positive = nonsense[i]}, TITHE_E_ARGUMENT,
                         "write label<=10");
    kit_refused(kit_text("one", "1 1:1\n1 1:1\n"), TITHE_E_DATA, "one label (1)");
    kit_refused_with(kit_text("one", "1 1:1\n1 1:1\n"), (tithe_data_options){.task = TITHE_TASK_CLASSES},
                     TITHE_E_DATA, "classes need two");
}

/* ---- every way to be wrong ------------------------------------------------------------------------------------------ */

static void broken_lines_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        tithe_status status;
        const char *part;
    } cases[] = {
        {"1 1:1\n-1 0:1\n", TITHE_E_DATA, "line 2: indices begin at 1, found 0:1."},
        {"1 3:1 2:1\n", TITHE_E_DATA, "line 1: expected an index above 3, since they ascend, found 2:1."},
        {"\n# x\n1 3:1 3:2\n", TITHE_E_DATA, "line 3: index 3 stands there twice"},
        {"1 1:nan\n", TITHE_E_NONFINITE, "line 1: index 1 must be finite, found nan."},
        {"1 1:-inf\n", TITHE_E_NONFINITE, "index 1 must be finite, found -inf."},
        {"NaN 1:1\n", TITHE_E_NONFINITE, "the label must be finite"},
        {"1e999 1:1\n", TITHE_E_NONFINITE, "the label must be finite"},
        {"1 1:1e39\n", TITHE_E_RANGE, "too large for a 32-bit float, found 1:1e39."},
        {"1 1:3.4028236e38\n", TITHE_E_RANGE, "too large for a 32-bit float"},
        {"1 1 2:1\n", TITHE_E_DATA, "expected index:value, found 1."},
        {"1 a:1\n", TITHE_E_DATA, "expected index:value, found a:1."},
        {"1 -1:1\n", TITHE_E_DATA, "expected index:value, found -1:1."},
        {"1 1:\n", TITHE_E_DATA, "expected a number for index 1, found nothing."},
        {"1 1: 2\n", TITHE_E_DATA, "expected a number for index 1, found nothing."},
        {"1 1:2x\n", TITHE_E_DATA, "expected a number for index 1, found 2x."},
        {"1 1:0x10\n", TITHE_E_DATA, "expected a number for index 1"},
        {"1 1:1e\n", TITHE_E_DATA, "expected a number for index 1"},
        {"1 1:-\n", TITHE_E_DATA, "expected a number for index 1"},
        {"1 1:1,5\n", TITHE_E_DATA, "expected a number for index 1, found 1,5."},
        {"1:1 2:1\n", TITHE_E_DATA, "expected a label before the first index:value, found 1:1."},
        {"abc 1:1\n", TITHE_E_DATA, "expected a number for the label, found abc."},
        {"1,2 1:1\n", TITHE_E_DATA, "expected a number for the label, found 1,2."},
        {"1 4294967296:1\n", TITHE_E_RANGE, "an index is at most 4294967295"},
        {"1 99999999999999999999999:1\n", TITHE_E_RANGE, "an index is at most 4294967295"},
        {"1 1:1 qid:3\n", TITHE_E_DATA, "expected index:value, found qid:3."},
        {"\x01\x02\x03 1:1\n", TITHE_E_DATA, "found ???."},
        {"1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", TITHE_E_DATA, "aaa...."},
        {"", TITHE_E_DATA, "has no rows"},
        {"\n\n# nothing\n", TITHE_E_DATA, "has no rows"},
        {"1\n-1\n", TITHE_E_DATA, "has no features"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = kit_text("broken", cases[i].text);
        kit_refused(path, cases[i].status, cases[i].part);
        kit_refused(path, cases[i].status, "broken"); /* the file is named */
    }
}

static void the_position_is_the_line(void **state)
{
    (void)state;
    tithe_data *d = NULL;
    tithe_error error = {0};
    assert_int_equal(tithe_data_open(kit_text("p", "1 1:1\n1 1:1\nx\n"), NULL, &d, &error), TITHE_E_DATA);
    assert_int_equal(error.position, 2);
    assert_int_equal(tithe_data_open(kit_path("p"), NULL, &d, NULL),
                     TITHE_E_DATA); /* no error struct is fine */
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    kit_refused(kit_path("missing"), TITHE_E_FILE, "missing cannot be opened");
    kit_refused(kit_directory, TITHE_E_FILE, "is a directory");
    char deep[400] = "/";
    while (strlen(deep) < 300) snprintf(deep + strlen(deep), 40, "a-rather-long-directory/");
    kit_refused(deep, TITHE_E_FILE, "cannot be opened");
}

/* ---- numbers --------------------------------------------------------------------------------------------------------- */

static void expect_number(const char *text)
{
    decimal d;
    const char *end = decimal_scan(text, &d);
    expect(end && *end == '\n', "%s is a number", text);
    const float single = decimal_float(&d, text, (locale_t)0), wanted = strtof(text, NULL);
    expect(bits_of_float(single) == bits_of_float(wanted), "%s: %.9g instead of %.9g", text, (double)single,
           (double)wanted);
    const double twice = decimal_double(&d, text, (locale_t)0), exact = strtod(text, NULL);
    expect(memcmp(&twice, &exact, sizeof exact) == 0, "%s: %.17g instead of %.17g", text, twice, exact);
}

static void numbers_are_rounded_as_c_does(void **state)
{
    (void)state;
    static const char *const corners[] = {
        "0\n",
        "-0\n",
        "1\n",
        "+1.\n",
        ".5\n",
        "1e-45\n",
        "7e-46\n",
        "1.17549435e-38\n",
        "3.4028235e38\n",
        "1e-400\n",
        "16777217\n",
        "16777217.0000000001\n",
        "16777216.9999999999\n",
        "33554435\n",
        "0.1\n",
        "123456789012345678901\n",
        "9007199254740993\n",
        "9007199254740993e22\n",
        "1e22\n",
        "1e23\n",
        "8388608.5\n",
        "8388609.5\n",
        "0.000000000000000000000000000000000000000000001401298464324817070923729583289916131280\n",
        "1.00000017881393432617187499\n",
        "1.000000178813934326171875\n",
        "1.00000017881393432617187501\n",
    };
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++) expect_number(corners[i]);

    dice d = {5};
    char text[80];
    for (int trial = 0; trial < 400000; trial++) {
        const int form = trial % 6;
        const float f = float_of_bits((uint32_t)roll(&d));
        if (form < 2 && isfinite(f)) /* a float, or the middle between two */
            snprintf(text, sizeof text, "%.*g\n", form ? 9 : 17, (double)f);
        else if (form == 2 && isfinite(f) && isfinite(nextafterf(f, INFINITY)))
            snprintf(text, sizeof text, "%.*e\n", (int)roll_below(&d, 22),
                     ((double)f + (double)nextafterf(f, INFINITY)) / 2);
        else if (form == 3)
            snprintf(text, sizeof text, "%llu.%llu\n", (unsigned long long)(roll(&d) >> roll_below(&d, 64)),
                     (unsigned long long)(roll(&d) >> roll_below(&d, 64)));
        else if (form == 4)
            snprintf(text, sizeof text, "0.%0*llu\n", 1 + (int)roll_below(&d, 12),
                     (unsigned long long)(roll(&d) >> (30 + roll_below(&d, 34))));
        else
            snprintf(text, sizeof text, "%s%llue%d\n", roll(&d) & 1 ? "-" : "",
                     (unsigned long long)(roll(&d) >> roll_below(&d, 64)), (int)roll_below(&d, 80) - 60);
        expect_number(text);
    }
}

/* Where the comma is the point, files still have points. */
static void other_countries_read_the_same(void **state)
{
    (void)state;
    const char *path = kit_text("country", "1 1:0.1234567890123456789012345\n-1 9:1.5\n");
    tithe_data *here = kit_open(path);
    const bool comma = set_locale_with_comma();
    tithe_data *there = kit_open(path);
    const bool same = here->hash == there->hash;
    setlocale(LC_ALL, "C");
    assert_true(same);
    tithe_data_free(here);
    tithe_data_free(there);
    if (!comma) {
        print_message("SKIP: no locale with a decimal comma is installed\n");
        skip();
    }
}

/* ---- compressed files -------------------------------------------------------------------------------------------------- */

static const struct {
    const char *suffix;
    int (*filter)(struct archive *);
} packers[] = {{".gz", archive_write_add_filter_gzip},
               {".bz2", archive_write_add_filter_bzip2},
               {".xz", archive_write_add_filter_xz},
               {".zst", archive_write_add_filter_zstd}};
enum { PACKERS = sizeof packers / sizeof *packers };

static void pack(size_t p, const char *path, const char *text)
{
    struct archive *a = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    assert_int_equal(packers[p].filter(a), ARCHIVE_OK);
    assert_int_equal(archive_write_set_format_raw(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_pathname(entry, "data");
    assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, text, strlen(text)), (la_ssize_t)strlen(text));
    archive_entry_free(entry);
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
}

/* Numbers without a pattern, so that half a file is half the rows. */
static char *long_text(void)
{
    enum { ROWS = 20000, SIZE = ROWS * 40 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    dice d = {11};
    size_t used = 0;
    for (int i = 0; i < ROWS; i++)
        used += (size_t)snprintf(text + used, SIZE - used, "%d %zu:%.6f %d:1\n", i % 2,
                                 1 + roll_below(&d, 50), roll_unit(&d), 100);
    return text;
}

static void compressed_files_read_like_plain_ones(void **state)
{
    (void)state;
    char *text = long_text();
    tithe_data *plain = kit_open(kit_text("set", text));
    remove(kit_path("set"));
    for (size_t p = 0; p < PACKERS; p++) {
        char name[16];
        snprintf(name, sizeof name, "set%s", packers[p].suffix);
        pack(p, kit_path(name), text);
        tithe_data *by_path = kit_open(kit_path(name));
        tithe_data *by_name = kit_open_with("set", (tithe_data_options){.directory = kit_directory});
        assert_true(by_path->hash == plain->hash && by_name->hash == plain->hash);
        assert_string_equal(by_path->name, "set");
        assert_string_equal(by_name->name, "set");
        tithe_data_free(by_path);
        tithe_data_free(by_name);
        remove(kit_path(name));
    }
    tithe_data_free(plain);
    free(text);
}

static void a_cut_file_is_refused_by_name(void **state)
{
    (void)state;
    char *text = long_text();
    for (size_t p = 0; p < PACKERS; p++) {
        char name[16];
        snprintf(name, sizeof name, "cut%s", packers[p].suffix);
        pack(p, kit_path(name), text);
        FILE *f = fopen(kit_path(name), "rb");
        assert_non_null(f);
        assert_int_equal(fseek(f, 0, SEEK_END), 0);
        const long size = ftell(f);
        fclose(f);
        const long cuts[] = {size / 2, size - 1, size - 9, 40};
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
            pack(p, kit_path(name), text);
            assert_int_equal(truncate(kit_path(name), cuts[c]), 0);
            kit_refused(kit_path(name), TITHE_E_FILE, name);
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_file_is_read),
        cmocka_unit_test(spellings_that_mean_the_same),
        cmocka_unit_test(lines_longer_than_the_buffer),
        cmocka_unit_test(full_rows_become_dense),
        cmocka_unit_test(features_and_unit_rows),
        cmocka_unit_test(labels_become_what_the_task_wants),
        cmocka_unit_test(labels_that_are_refused),
        cmocka_unit_test(broken_lines_are_refused),
        cmocka_unit_test(the_position_is_the_line),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(numbers_are_rounded_as_c_does),
        cmocka_unit_test(other_countries_read_the_same),
        cmocka_unit_test(compressed_files_read_like_plain_ones),
        cmocka_unit_test(a_cut_file_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
