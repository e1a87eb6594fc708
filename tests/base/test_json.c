/* test_json.c - JSON to the letter, whatever the texts and numbers are. */
#include "base/json.h"
#include "support.h"

static void objects_and_lists(void **state)
{
    (void)state;
    json j = {0};
    ti_json_open(&j, NULL, '{');
    ti_json_number(&j, "n", 3);
    ti_json_open(&j, "list", '[');
    ti_json_number(&j, NULL, 0.1);
    ti_json_open(&j, NULL, '{');
    ti_json_close(&j, '}');
    ti_json_string(&j, NULL, NULL);
    ti_json_close(&j, ']');
    ti_json_bool(&j, "yes", true);
    ti_json_close(&j, '}');
    char *text = ti_json_done(&j);
    assert_string_equal(text, "{\"n\": 3, \"list\": [0.1, {}, null], \"yes\": true}");
    assert_true(!j.text && !j.length);
    free(text);
}

static void texts_are_escaped(void **state)
{
    (void)state;
    json j = {0};
    ti_json_string(&j, NULL, "a\"b\\c\nd\x01 \xc3\xa4");
    char *text = ti_json_done(&j);
    assert_string_equal(text, "\"a\\\"b\\\\c\\u000ad\\u0001 \xc3\xa4\"");
    free(text);
}

/* Every double comes back, and what is no number is null. */
static void numbers_come_back(void **state)
{
    (void)state;
    dice d = {5};
    for (int i = 0; i < 1000; i++) {
        const double value = ldexp(roll_gauss(&d), (int)roll_below(&d, 400) - 200);
        json j = {0};
        ti_json_number(&j, NULL, value);
        char *text = ti_json_done(&j);
        assert_true(strtod(text, NULL) == value);
        free(text);
    }
    static const double none[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int i = 0; i < 3; i++) {
        json j = {0};
        ti_json_number(&j, NULL, none[i]);
        char *text = ti_json_done(&j);
        assert_string_equal(text, "null");
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_lists),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(numbers_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
