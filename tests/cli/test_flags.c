/* The library's options, as the command says them. */
#include <stdlib.h>

#include "../../cli/flags.h"
#include "support.h"
#include "tithe/learn.h"

static void sentences(void **state)
{
    (void)state;
    static const struct {
        const char *said, *shown;
    } rows[] = {
        {"", ""},
        {"Nothing is named here.", "Nothing is named here."},
        {"`l2` takes a number.", "--l2 takes a number."},
        {"take `feedback=ec`.", "take --feedback ec."},
        {"take `scheme=artopk`, or leave `leader` out.", "take --scheme artopk, or leave --leader out."},
        {"take `codec=all|raw`, please", "take --codec 'all|raw', please"},
        {"such as `positive=label<=10`.", "such as --positive 'label<=10'."},
        {"take `codec=topk:keep=X` or k", "take --codec topk:keep=X or k"},
        {"`codec=it's`", "--codec 'it'\\''s'"},
        {"`cost=`", "--cost ''"},
        /* what is no option */
        {"see `tithe list costs`", "see `tithe list costs`"},
        {"`given` and `feedbac=ec`, then `seed`", "`given` and `feedbac=ec`, then --seed"},
        {"`` and `feedback", "`` and `feedback"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[120];
        flags_say(rows[i].said, text, sizeof text);
        assert_string_equal(text, rows[i].shown);
        /* As much as there is room for, and no more. */
        for (size_t room = 1; room <= strlen(rows[i].shown) + 1; room++) {
            char *cut = malloc(room);
            flags_say(rows[i].said, cut, room);
            assert_true(strlen(cut) == room - 1 && strncmp(cut, rows[i].shown, room - 1) == 0);
            free(cut);
        }
    }
}

/* Whatever the library calls an option is one on the command line. */
static void every_option(void **state)
{
    (void)state;
    for (const tithe_option *row = tithe_train_option_table(); row->name; row++) {
        char said[80], shown[80], text[80];
        snprintf(said, sizeof said, "`%s=1`", row->name);
        snprintf(shown, sizeof shown, "--%s 1", row->name);
        flags_say(said, text, sizeof text);
        assert_string_equal(text, shown);
    }
}

static void lists(void **state)
{
    (void)state;
    char text[120];
    flags_list("scheme=star;collective=star;codec=topk:keep=0.1|natural;deterministic", text, sizeof text);
    assert_string_equal(text,
                        "--scheme star --collective star --codec 'topk:keep=0.1|natural' --deterministic");
    flags_list("", text, sizeof text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sentences), cmocka_unit_test(every_option),
                                       cmocka_unit_test(lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
