/* test_sources.c - data by name and by spec: the table, wrong names, images, and the real sets where they are. */
#include "data/kit.h"
#include "tithe/variant.h"

static void the_table_describes_itself(void **state)
{
    (void)state;
    size_t count = 0;
    for (const tithe_data_source *const *s = tithe_data_sources(); *s; s++, count++) {
        assert_true((*s)->name[0] && (*s)->summary[0] && (*s)->paper[0]);
        for (const tithe_param *p = (*s)->params; p && p->name; p++)
            expect(p->doc[0] && p->fallback >= p->min && p->fallback <= p->max, "%s: %s", (*s)->name,
                   p->name);
        for (const tithe_data_source *const *other = tithe_data_sources(); other < s; other++)
            assert_string_not_equal((*other)->name, (*s)->name);
    }
    assert_true(count >= 11);
}

static void a_wrong_name_is_answered_with_the_right_ones(void **state)
{
    (void)state;
    kit_text("zebra.xz", "");
    kit_text("apple", "");
    const tithe_data_options here = {.directory = kit_directory};
    kit_refused_with("w9a", here, TITHE_E_FILE, "No data \"w9a\".");
    kit_refused_with("w9a", here, TITHE_E_FILE, "gen:sparse gen:dense a9a-like w8a-like");
    kit_refused_with("w9a", here, TITHE_E_FILE, "fashion-mnist; data directory: apple, zebra.");
    kit_refused_with("", here, TITHE_E_FILE, "No data \"\".");
    kit_refused_with("a9a-like-but-with-a-very-long-name-indeed", here, TITHE_E_FILE,
                     "...ery-long-name-indeed\"");
    kit_refused_with("x", (tithe_data_options){.directory = "/nonexistent"}, TITHE_E_FILE,
                     "nothing that can be read");
    kit_refused_with("x", (tithe_data_options){.directory = ""}, TITHE_E_FILE, "set TITHE_DATA");
    for (int i = 0; i < 40; i++) {
        char name[40];
        snprintf(name, sizeof name, "some-set-number-%d", i);
        kit_text(name, "");
    }
    kit_refused_with("w9a", here, TITHE_E_FILE, "apple, some-set-number-0, ");
    kit_refused_with("mnist", here, TITHE_E_FILE, "has no mnist-train-images-idx3-ubyte");
    kit_refused_with("mnist-test", (tithe_data_options){.directory = ""}, TITHE_E_FILE, "set TITHE_DATA");
}

static void specs_are_checked(void **state)
{
    (void)state;
    kit_refused("gen:sparse:row=3", TITHE_E_SPEC, "gen:sparse has no parameter \"row\"");
    kit_refused("gen:sparse:rows=0", TITHE_E_SPEC, "rows of gen:sparse is 0");
    kit_refused("gen:dense:density=1", TITHE_E_SPEC, "no parameter");
    kit_refused("w8a-like:scale=2", TITHE_E_SPEC, "scale of w8a-like is 2");
    kit_refused("gen:mixed", TITHE_E_FILE, "No data");
    kit_refused("mnist:seed=1", TITHE_E_SPEC, "mnist has no parameter");
    tithe_data *d = NULL;
    assert_int_equal(tithe_data_open(NULL, NULL, &d, NULL), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_data_open("gen:dense", NULL, NULL, NULL), TITHE_E_ARGUMENT);
    d = kit_open("gen:sparse: seed=3, rows=20");
    assert_string_equal(d->name, "gen:sparse:rows=20,seed=3");
    tithe_data_free(d);
}

/* ---- images -------------------------------------------------------------------------------------------------------- */

static const unsigned char images[] = {0, 0, 8, 3, 0, 0, 0,   3,  0,   0,   0,
                                       1, 0, 0, 0, 2, 0, 255, 51, 102, 153, 204};
static const unsigned char labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 9, 0, 9};

static void small_images_are_read(void **state)
{
    (void)state;
    const char *path = kit_write("tiny-images-idx3-ubyte", images, sizeof images);
    kit_write("tiny-labels-idx1-ubyte", labels, sizeof labels);
    tithe_data *d = kit_open_with(path, (tithe_data_options){.task = TITHE_TASK_CLASSES});
    const float values[] = {0, 1, 0.2f, 0.4f, 0.6f, 0.8f};
    const double classes[] = {1, 0, 1};
    assert_int_equal(d->rows, 3);
    assert_int_equal(d->features, 2);
    assert_int_equal(d->classes, 2);
    assert_null(d->offsets);
    assert_memory_equal(d->values, values, sizeof values);
    assert_memory_equal(d->labels, classes, sizeof classes);
    tithe_data_free(d);
    d = kit_open_with(path, (tithe_data_options){.positive = "label==9", .features = 3});
    assert_int_equal(d->features, 3);
    assert_true(kit_value(d, 1, 0) == (double)0.2f && kit_value(d, 1, 2) == 0 &&
                kit_value(d, 2, 1) == (double)0.8f);
    assert_true(d->labels[0] == 1 && d->labels[1] == -1);
    tithe_data_free(d);
}

static void broken_images_are_refused(void **state)
{
    (void)state;
    unsigned char wrong[sizeof images + 1];
    memcpy(wrong, images, sizeof images);
    kit_refused(kit_write("some-pictures", images, sizeof images), TITHE_E_FILE, "...labels-idx1...");
    kit_refused(kit_write("lone-images-idx3-ubyte", images, sizeof images), TITHE_E_FILE,
                "lone-labels-idx1-ubyte");
    kit_write("bad-labels-idx1-ubyte", labels, sizeof labels);
    kit_refused(kit_write("bad-images-idx3-ubyte", images, sizeof images - 1), TITHE_E_DATA, "ends before");
    kit_refused(kit_write("bad-images-idx3-ubyte", images, 10), TITHE_E_DATA, "ends before");
    kit_refused(kit_write("bad-images-idx3-ubyte", wrong, sizeof wrong), TITHE_E_DATA, "goes on");
    wrong[7] = 0;
    kit_refused(kit_write("bad-images-idx3-ubyte", wrong, sizeof images), TITHE_E_DATA, "makes no sense");
    memset(wrong + 4, 255, 12);
    kit_refused(kit_write("bad-images-idx3-ubyte", wrong, sizeof images), TITHE_E_DATA, "makes no sense");
    const char *path = kit_write("bad-images-idx3-ubyte", images, sizeof images);
    kit_write("bad-labels-idx1-ubyte", labels, sizeof labels - 1);
    kit_refused(path, TITHE_E_DATA, "bad-labels-idx1-ubyte ends before");
    kit_write("bad-labels-idx1-ubyte", images, sizeof images);
    kit_refused(path, TITHE_E_DATA, "no IDX file of labels");
    unsigned char few[sizeof labels];
    memcpy(few, labels, sizeof few);
    few[7] = 2;
    kit_write("bad-labels-idx1-ubyte", few, sizeof few);
    kit_refused(path, TITHE_E_DATA, "2 labels for 3 images");
    kit_text("mnist-train-images-idx3-ubyte", "1 1:1\n");
    kit_refused_with("mnist", (tithe_data_options){.directory = kit_directory}, TITHE_E_DATA,
                     "no IDX file of images");
}

static void expect_images(const char *name, size_t rows, double share_of_nonzero)
{
    tithe_data *d = kit_open_with(name, (tithe_data_options){.task = TITHE_TASK_CLASSES});
    size_t nonzero = 0;
    for (size_t i = 0; i < d->nonzeros; i++) nonzero += d->values[i] != 0;
    assert_true(d->rows == rows && d->features == 784 && d->classes == 10 && !d->offsets);
    expect(fabs((double)nonzero / (double)d->nonzeros - share_of_nonzero) < 5e-5, "%s: %zu nonzero", name,
           nonzero);
    tithe_data_free(d);
}

static void fashion_is_found_where_debian_puts_it(void **state)
{
    (void)state;
    if (access("/usr/share/datasets/fashion-mnist", R_OK) != 0) {
        kit_refused("fashion-mnist", TITHE_E_FILE, "dataset-fashion-mnist");
        print_message("SKIP: dataset-fashion-mnist is not installed\n");
        skip();
    }
    expect_images("fashion-mnist-test", 10000, 0.5001);
    expect_images("fashion-mnist", 60000, 0.4979);
}

/* ---- the real sets: counts as published --------------------------------------------------------------------------- */

static void real_sets_have_their_published_counts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t rows, features, nonzeros, positive;
        const char *positive_labels;
    } sets[] = {
        {"a9a", 32561, 123, 451592, 7841, NULL},
        {"a9a.t", 16281, 122, 225731, 3846, NULL},
        {"w8a", 49749, 300, 579586, 1479, NULL},
        {"w8a.t", 14951, 300, 174276, 454, NULL},
        {"mushrooms", 8124, 112, 170604, 4208, NULL},
        {"rcv1-1k", 1000, 47117, 77739, 459, NULL},
        {"news20", 15935, 62061, 1272569, 7951, "label<=10"},
    };
    const char *directory = getenv("TITHE_DATA");
    if (!directory || !*directory) {
        print_message("SKIP: TITHE_DATA is not set, so the real data sets were not read\n");
        skip();
    }
    size_t read = 0;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char pattern[512];
        snprintf(pattern, sizeof pattern, "%s/%s.xz", directory, sets[i].name);
        char plain[512];
        snprintf(plain, sizeof plain, "%s/%s", directory, sets[i].name);
        if (access(pattern, R_OK) != 0 && access(plain, R_OK) != 0) {
            print_message("SKIP: %s is not in TITHE_DATA\n", sets[i].name);
            continue;
        }
        tithe_data *d =
            kit_open_with(sets[i].name, (tithe_data_options){.positive = sets[i].positive_labels});
        size_t positive = 0;
        for (size_t r = 0; r < d->rows; r++) positive += d->labels[r] > 0;
        expect(d->rows == sets[i].rows && d->features == sets[i].features &&
                   d->nonzeros == sets[i].nonzeros && positive == sets[i].positive,
               "%s: %zu x %zu, %llu, %zu positive", sets[i].name, d->rows, d->features,
               (unsigned long long)d->nonzeros, positive);
        tithe_data_free(d);
        read++;
    }
    char mnist[512];
    snprintf(mnist, sizeof mnist, "%s/mnist-t10k-images-idx3-ubyte.xz", directory);
    if (access(mnist, R_OK) == 0) {
        expect_images("mnist-test", 10000, 0.1928);
        expect_images("mnist", 60000, 0.1912);
    }
    print_message("%zu real sets were read\n", read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_describes_itself),
        cmocka_unit_test(a_wrong_name_is_answered_with_the_right_ones), /* before others write files */
        cmocka_unit_test(specs_are_checked),
        cmocka_unit_test(small_images_are_read),
        cmocka_unit_test(broken_images_are_refused),
        cmocka_unit_test(fashion_is_found_where_debian_puts_it),
        cmocka_unit_test(real_sets_have_their_published_counts),
    };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
