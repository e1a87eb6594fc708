/* The file form: what is written is read back to the bit, and what is broken is refused with its line. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "comma.h"
#include "report/traces.h"

static tithe_trace_file *opened(const char *path, const char *name)
{
    tithe_trace_file *file = NULL;
    tithe_error error = {0};
    if (tithe_trace_file_open(path, name, &file, &error)) fail_msg("%s", error.text);
    return file;
}

static tithe_trace *parsed(const char *text)
{
    tithe_trace *trace = NULL;
    tithe_error error = {0};
    if (tithe_trace_parse("test", text, strlen(text), &trace, &error)) fail_msg("%s: %s", text, error.text);
    return trace;
}

/* Any double, special ones often. */
static double any_number(dice *d)
{
    static const double special[] = {
        0.0,     -0.0, 1e15, 123456789012345678.0, 0.1, DBL_MAX, DBL_MIN, 5e-324, NAN, INFINITY, -INFINITY,
        1.0 / 3, 100,  1e-7};
    const size_t pick = roll_below(d, 28);
    if (pick < sizeof special / sizeof *special) return special[pick];
    const uint64_t bits = roll(d);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const char *any_text(dice *d)
{
    static const char *const texts[] = {"",  "gather",   "a, b",         "say \"no\"", "\"",
                                        ",", " blanks ", "gr\xc3\xb6ss", "#1"};
    return texts[roll_below(d, sizeof texts / sizeof *texts)];
}

static bool same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void round_trip(void)
{
    enum { COUNT = 400 };
    const test_path path = path_of("csv");
    dice d = {7};
    tithe_trace *expected = trace_of("any \"name\"\nof two lines");
    tithe_trace_file *file = opened(path.text, tithe_trace_name(expected));
    static const char *const facts[][2] = {
        {"command", "tithe train --codec 'topk:keep=0.01|natural' \\\n  --seed 1"},
        {"data", "a9a"},
        {"empty", ""},
        {"quoted", "\"x\""},
        {"blank", " \t"},
        {"colon", "a: b # c"},
        {"backslash", "C:\\new\\\"table\"\r"},
        {"model_hash", "00ff"},
    };
    for (size_t i = 0; i < 8; i++) {
        if (i == 7) { /* one that comes behind the records */
            for (size_t r = 0; r < COUNT; r++) {
                tithe_trace_record record = ti_record_unknown();
                for (const tithe_column *c = tithe_columns(); c->name; c++) {
                    if (c->kind == TITHE_COLUMN_NUMBER)
                        *ti_number_of(&record, c) = any_number(&d);
                    else
                        *ti_text_of(&record, c) = any_text(&d);
                }
                assert_int_equal(tithe_trace_add(expected, &record), TITHE_OK);
                assert_int_equal(tithe_trace_file_append(file, &record, NULL), TITHE_OK);
            }
        }
        assert_int_equal(tithe_trace_fact(expected, facts[i][0], facts[i][1]), TITHE_OK);
        assert_int_equal(tithe_trace_file_fact(file, facts[i][0], facts[i][1], NULL), TITHE_OK);
    }
    assert_int_equal(tithe_trace_file_close(file, NULL), TITHE_OK);

    tithe_trace *got = NULL;
    tithe_error error = {0};
    if (tithe_trace_read(path.text, &got, &error)) fail_msg("%s", error.text);
    assert_string_equal(tithe_trace_name(got), tithe_trace_name(expected));
    assert_int_equal(tithe_trace_fact_count(got), 8);
    for (size_t i = 0; i < 8; i++) {
        const char *key, *value;
        tithe_trace_fact_at(got, i, &key, &value);
        assert_string_equal(key, facts[i][0]);
        assert_string_equal(value, facts[i][1]);
    }
    assert_int_equal(tithe_trace_count(got), COUNT);
    for (size_t r = 0; r < COUNT; r++) {
        const tithe_trace_record *a = tithe_trace_at(expected, r), *b = tithe_trace_at(got, r);
        for (const tithe_column *c = tithe_columns(); c->name; c++) {
            if (c->kind == TITHE_COLUMN_TEXT)
                assert_string_equal(ti_text_at(a, c), ti_text_at(b, c));
            else
                expect(same_number(ti_number_at(a, c), ti_number_at(b, c)),
                       "record %zu, %s: %.17g became %.17g", r, c->name, ti_number_at(a, c),
                       ti_number_at(b, c));
        }
    }
    tithe_trace_free(got);
    tithe_trace_free(expected);
    unlink(path.text);
}

static void reads_back_what_was_written(void **state)
{
    (void)state;
    round_trip();
}

static void numbers_have_a_point_in_every_country(void **state)
{
    (void)state;
    if (!set_locale_with_comma()) {
        print_message("SKIP: no locale with a decimal comma is installed\n");
        skip();
    }
    round_trip();
    setlocale(LC_ALL, "C");
}

static void a_record_is_there_when_append_returns(void **state)
{
    (void)state;
    const test_path path = path_of("append");
    tithe_trace_file *file = opened(path.text, "live");
    for (size_t i = 0; i < 5; i++) {
        const tithe_trace_record r = plain_record(i, 1, 2);
        assert_int_equal(tithe_trace_file_append(file, &r, NULL), TITHE_OK);
        tithe_trace *so_far = NULL;
        assert_int_equal(tithe_trace_read(path.text, &so_far, NULL), TITHE_OK);
        assert_int_equal(tithe_trace_count(so_far), i + 1);
        tithe_trace_free(so_far);
    }
    assert_int_equal(tithe_trace_file_close(file, NULL), TITHE_OK);
    unlink(path.text);
}

/* Wherever a run is stopped, what is there reads as far as its last whole line. */
static void every_beginning_of_a_file_reads(void **state)
{
    (void)state;
    const test_path path = path_of("cut");
    tithe_trace_file *file = opened(path.text, "cut");
    assert_int_equal(tithe_trace_file_fact(file, "command", "a\nb", NULL), TITHE_OK);
    for (size_t i = 0; i < 3; i++) {
        tithe_trace_record r = plain_record(i, 1.0 / 3, 2);
        r.reason = "because, \"so\"";
        assert_int_equal(tithe_trace_file_append(file, &r, NULL), TITHE_OK);
    }
    assert_int_equal(tithe_trace_file_close(file, NULL), TITHE_OK);
    size_t length;
    char *text = contents_of(path.text, &length);
    size_t lines = 0;
    for (size_t cut = 0; cut <= length; cut++) {
        if (cut > 0 && text[cut - 1] == '\n') lines++;
        tithe_trace *trace = NULL;
        const tithe_status status = tithe_trace_parse("cut", text, cut, &trace, NULL);
        expect(status == (lines ? TITHE_OK : TITHE_E_DATA), "cut at %zu: status %d", cut, (int)status);
        if (status) continue;
        assert_int_equal(tithe_trace_count(trace), lines > 3 ? lines - 3 : 0);
        tithe_trace_free(trace);
    }
    free(text);
    unlink(path.text);
}

static void broken_lines_are_refused_with_their_number(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "test:1: This is no trace"},
        {"step,loss\n", "test:1: This is no trace"},
        {"# data: a9a\n", "test:1: This is no trace"},
        {"# name x\n", "test:1: A line that starts with #"},
        {"# name: x\n#\n", "test:2: A line that starts with #"},
        {"# name: x\n# : y\n", "test:2: This fact has no key"},
        {"# name: x\n# name: y\n", "test:2: This fact has no key"},
        {"# name: \"x\n", "test:1: The quoted value"},
        {"# name: \"x\" y\n", "test:1: The quoted value"},
        {"# name: \"x\\q\"\n", "test:1: The quoted value"},
        {"# name: \"x\\\n", "test:1: The quoted value"},
        {"# name: x\na,b,c\n", "test:2: This is no trace: none of its columns"},
        {"# name: x\n\n", "test:2: This is no trace: none of its columns"},
        {"# name: x\nstep,loss,step\n", "test:2: A column is named twice"},
        {"# name: x\nstep,\"loss\n", "test:2: A quote"},
        {"# name: x\nstep,loss\n1,2\n1\n", "test:4: The line has 1 field, but there are 2"},
        {"# name: x\nstep,loss\n1,2,3\n", "test:3: The line has 3 fields, but there are 2"},
        {"# name: x\nstep,loss\n\n", "test:3: The line is empty"},
        {"# name: x\nstep,loss\n1,2x\n", "test:3: '2x' in column loss is not a number"},
        {"# name: x\nstep,loss\n1, 2\n", "in column loss is not a number"},
        {"# name: x\nstep,loss\n1,0x10\n", "in column loss is not a number"},
        {"# name: x\nstep,loss\n1,1e999\n", "in column loss is not a number"},
        {"# name: x\nstep,loss\n1,infinity\n", "in column loss is not a number"},
        {"# name: x\nstep,loss\n1,-\n", "in column loss is not a number"},
        {"# name: x\nstep,loss\n1,1.2.3\n", "in column loss is not a number"},
        {"# name: x\nstep,reason\n1,\"a\n", "test:3: A quote"},
        {"# name: x\nstep,reason\n1,\"a\"b\n", "test:3: A quote"},
        {"# name: x\nstep,reason\n1,a\"b\n", "test:3: A quote"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tithe_trace *trace = NULL;
        tithe_error error = {0};
        const tithe_status status =
            tithe_trace_parse("test", cases[i].text, strlen(cases[i].text), &trace, &error);
        expect(status == TITHE_E_DATA && !trace, "taken: %s", cases[i].text);
        expect(strstr(error.text, cases[i].sentence), "%s: '%s' in place of '%s'", cases[i].text, error.text,
               cases[i].sentence);
    }
    static const char zero[] = "# name: x\nstep,loss\n1,2\0\n";
    tithe_error error = {0};
    tithe_trace *trace = NULL;
    assert_int_equal(tithe_trace_parse("test", zero, sizeof zero - 1, &trace, &error), TITHE_E_DATA);
}

static void other_columns_are_no_failure(void **state)
{
    (void)state;
    tithe_trace *trace =
        parsed("# name: x\r\nloss,mood,reason,step\r\n0.5,\"good, mostly\",\"a \"\"b\"\"\",\r\n"
               "inf,,,\"2\"\r\n# late:\n-inf,x,y,3\n0.25,cut o");
    assert_int_equal(tithe_trace_count(trace), 3);
    const tithe_trace_record *r = tithe_trace_at(trace, 0);
    assert_true(r->loss == 0.5 && isnan(r->step) && isnan(r->gap));
    assert_string_equal(r->reason, "a \"b\"");
    assert_string_equal(r->scheme, "");
    assert_true(tithe_trace_at(trace, 1)->loss == INFINITY && tithe_trace_at(trace, 1)->step == 2);
    assert_true(tithe_trace_at(trace, 2)->loss == -INFINITY);
    assert_string_equal(tithe_trace_find(trace, "late"), "");
    tithe_trace_free(trace);
}

static void a_line_end_in_a_text_stays_out_of_the_file(void **state)
{
    (void)state;
    const test_path path = path_of("ends");
    tithe_trace_file *file = opened(path.text, "ends");
    tithe_trace_record r = plain_record(0, 1, 1);
    r.reason = "two\nlines";
    assert_int_equal(tithe_trace_file_append(file, &r, NULL), TITHE_OK);
    assert_int_equal(tithe_trace_file_close(file, NULL), TITHE_OK);
    tithe_trace *trace = NULL;
    assert_int_equal(tithe_trace_read(path.text, &trace, NULL), TITHE_OK);
    assert_string_equal(tithe_trace_at(trace, 0)->reason, "two lines");
    tithe_trace_free(trace);
    unlink(path.text);
}

static void bad_paths_are_found_at_once(void **state)
{
    (void)state;
    tithe_trace_file *file = NULL;
    tithe_trace *trace = NULL;
    tithe_error error = {0};
    assert_int_equal(tithe_trace_file_open("no/such/folder/t.csv", "x", &file, &error), TITHE_E_FILE);
    assert_non_null(strstr(error.text, "no/such/folder/t.csv"));
    assert_int_equal(tithe_trace_file_open(".", "x", &file, &error), TITHE_E_FILE);
    assert_int_equal(tithe_trace_read("no-such-file.csv", &trace, &error), TITHE_E_FILE);
    assert_non_null(strstr(error.text, "no-such-file.csv"));
    assert_int_equal(tithe_trace_read(".", &trace, &error), TITHE_E_FILE);
    assert_null(file);
    assert_null(trace);
    assert_int_equal(tithe_trace_file_close(NULL, NULL), TITHE_OK);
}

/* A long path must not push the sentence out of the error. */
static void a_long_path_leaves_room_for_the_sentence(void **state)
{
    (void)state;
    char source[600];
    memset(source, 'd', sizeof source - 1);
    memcpy(source + sizeof source - 8, "/t.csv", 7);
    tithe_error error = {0};
    tithe_trace *trace = NULL;
    assert_int_equal(tithe_trace_parse(source, "x\n", 2, &trace, &error), TITHE_E_DATA);
    assert_non_null(strstr(error.text, "/t.csv:1: This is no trace: its first line must be '# name: ...'."));
}

/* The disk is full: what does not fit is cut off again, and the lines before stay whole. */
static void a_full_disk_leaves_whole_lines(void **state)
{
    (void)state;
    const test_path path = path_of("full");
    tithe_trace_file *file = opened(path.text, "full");
    const tithe_trace_record r = plain_record(1, 1.0 / 3, 2);
    assert_int_equal(tithe_trace_file_append(file, &r, NULL), TITHE_OK);
    struct stat before, after;
    assert_int_equal(stat(path.text, &before), 0);

    struct rlimit old, tight;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = (rlim_t)before.st_size + 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    tithe_error error = {0};
    const tithe_status full = tithe_trace_file_append(file, &r, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(full, TITHE_E_FILE);
    assert_int_equal(stat(path.text, &after), 0);
    assert_int_equal(after.st_size, before.st_size);

    assert_int_equal(tithe_trace_file_append(file, &r, NULL), TITHE_OK);
    assert_int_equal(tithe_trace_file_close(file, NULL), TITHE_OK);
    tithe_trace *trace = NULL;
    assert_int_equal(tithe_trace_read(path.text, &trace, NULL), TITHE_OK);
    assert_int_equal(tithe_trace_count(trace), 2);
    tithe_trace_free(trace);
    unlink(path.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back_what_was_written),
        cmocka_unit_test(numbers_have_a_point_in_every_country),
        cmocka_unit_test(a_record_is_there_when_append_returns),
        cmocka_unit_test(every_beginning_of_a_file_reads),
        cmocka_unit_test(broken_lines_are_refused_with_their_number),
        cmocka_unit_test(other_columns_are_no_failure),
        cmocka_unit_test(a_line_end_in_a_text_stays_out_of_the_file),
        cmocka_unit_test(bad_paths_are_found_at_once),
        cmocka_unit_test(a_long_path_leaves_room_for_the_sentence),
        cmocka_unit_test(a_full_disk_leaves_whole_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
