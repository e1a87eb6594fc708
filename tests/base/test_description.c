/* test_description.c - rows of text: what is added is found, whatever it holds; and where two texts differ. */
#include "base/description.h"
#include "support.h"

static void what_is_added_is_found(void **state)
{
    (void)state;
    description d = {0};
    description_row row;
    char value[16];
    bool fits;
    ti_description_add(&d, "codec", "%s", "topk:k=2|raw");
    ti_description_add(&d, "n", "%d", 12);
    ti_description_add(&d, "empty", "%s", "");
    ti_description_add(&d, "lines", "%s", "a\nn: 13\n\033[2J");
    assert_string_equal(d.text, "codec: topk:k=2|raw\nn: 12\nempty: \nlines: a n: 13  [2J\n");
    assert_int_equal(d.length, strlen(d.text));
    assert_true(ti_description_find(d.text, "n", &row));
    ti_description_copy(&row, value, sizeof value, &fits);
    assert_true(fits && strcmp(value, "12") == 0);
    assert_true(ti_description_find(d.text, "codec", &row));
    ti_description_copy(&row, value, 5, &fits);
    assert_true(!fits && strcmp(value, "topk") == 0);
    assert_true(ti_description_find(d.text, "empty", &row) && row.value_length == 0);
    assert_false(ti_description_find(d.text, "code", &row));
    assert_false(ti_description_find(d.text, "codecs", &row));
    ti_description_free(&d);
    assert_true(!d.text && !d.length);
}

static void any_length_has_room(void **state)
{
    (void)state;
    description d = {0}, copy = {0};
    static char long_value[70001];
    memset(long_value, 'x', sizeof long_value - 1);
    for (int i = 0; i < 100; i++) ti_description_add(&d, "key", "%d", i);
    ti_description_add(&d, "long", "%s", long_value);
    int rows = 0;
    description_row row;
    for (const char *at = d.text; ti_description_next(&at, &row); rows++) ti_description_add_row(&copy, &row);
    assert_int_equal(rows, 101);
    assert_int_equal(row.value_length, 70000);
    assert_string_equal(copy.text, d.text);
    ti_description_append(&copy, NULL);
    ti_description_append(&copy, "n: 1\n");
    assert_true(copy.length == d.length + 5 && ti_description_find(copy.text, "n", &row));
    ti_description_free(&d);
    ti_description_free(&copy);
}

static void what_is_no_row_ends_a_text(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "key", "key\n", ":\n", ": x\n", "key:x\n", "key:\n"};
    description_row row;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *at = texts[i];
        expect(!ti_description_next(&at, &row), "'%s' was a row", texts[i]);
    }
    const char *at = "key: x"; /* the last line may lack its end */
    assert_true(ti_description_next(&at, &row) && row.value_length == 1 && !*at);
}

static bool not_n(const char *key)
{
    return strcmp(key, "n") != 0;
}

static void differences_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second, *key, *a, *b; /* key NULL: there is none */
    } rows[] = {
        {"a: 1\nb: 2\n", "a: 1\nb: 2\n", NULL, NULL, NULL},
        {"a: 1\nb: 2\n", "b: 2\na: 1\n", NULL, NULL, NULL}, /* in any order */
        {"a: 1\nb: 2\n", "a: 1\nb: 3\n", "b", "2", "3"},
        {"a: 1\nb: 2\n", "a: 12\nb: 3\n", "a", "1", "12"},
        {"a: 1\nb: 2\n", "a: 1\n", "b", "2", "(not given)"},
        {"a: 1\n", "a: 1\nb: 2\n", "b", "(not given)", "2"},
        {"f: x\nf contents: 7\n", "f: y\nf contents: 7\n", NULL, NULL,
         NULL}, /* another name, the same file */
        {"f: x\nf contents: 7\n", "f: y\nf contents: 8\n", "f", "x", "y"},
        {"f: x\nf contents: 7\n", "f: x\nf contents: 8\n", "f contents", "7", "8"},
        {"f: x\nf contents: 7\n", "f: y\n", "f", "x", "y"},
        {"n: 1\n", "n: 2\n", NULL, NULL, NULL}, /* does not count */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        description_difference d;
        const bool differ = ti_description_differ(rows[i].first, rows[i].second, not_n, &d);
        expect(differ == (rows[i].key != NULL), "%zu: %s", i, differ ? d.key : "no difference");
        if (differ)
            expect(strcmp(d.key, rows[i].key) == 0 && strcmp(d.first, rows[i].a) == 0 &&
                       strcmp(d.second, rows[i].b) == 0,
                   "%zu: %s is '%s' and '%s'", i, d.key, d.first, d.second);
    }
}

/* Wherever the difference is, both excerpts fit and show it. */
static void long_values_are_shown_where_they_differ(void **state)
{
    (void)state;
    for (size_t length = 40; length < 400; length += 7)
        for (size_t at = 0; at < length; at++) {
            char first[512] = "key: ", second[512];
            for (size_t i = 0; i < length; i++) first[5 + i] = (char)('a' + i % 23);
            strcpy(first + 5 + length, "\n");
            strcpy(second, first);
            second[5 + at] = '#';
            description_difference d;
            assert_true(ti_description_differ(first, second, NULL, &d));
            expect(strchr(d.second, '#') && !strchr(d.first, '#'), "%zu of %zu: %s", at, length, d.second);
            expect(strcmp(d.first, d.second) != 0, "%zu of %zu: %s twice", at, length, d.first);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_found),
        cmocka_unit_test(any_length_has_room),
        cmocka_unit_test(what_is_no_row_ends_a_text),
        cmocka_unit_test(differences_are_named),
        cmocka_unit_test(long_values_are_shown_where_they_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
