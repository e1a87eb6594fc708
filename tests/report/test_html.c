/* The report: what goes into the page, and that nothing a trace holds can get out of its place there. */
#include <sys/stat.h>

#include "comma.h"
#include "report/page_data.h"
#include "report/parts.h"
#include "report/summary.h"
#include "report/thin.h"
#include "report/traces.h"

/* ---- thinning ------------------------------------------------------------------------------------------- */

static void few_records_are_all_kept(void **state)
{
    (void)state;
    size_t places[64];
    tithe_trace *trace = trace_of("few");
    assert_int_equal(ti_thin(trace, 64, places), 0);
    for (size_t i = 0; i < 64; i++) {
        add_plain(trace, i, 1, 1);
        assert_int_equal(ti_thin(trace, 64, places), i + 1);
        for (size_t j = 0; j <= i; j++) assert_int_equal(places[j], j);
    }
    tithe_trace_free(trace);
}

static bool holds(const size_t *places, size_t count, size_t place)
{
    for (size_t i = 0; i < count; i++)
        if (places[i] == place) return true;
    return false;
}

/* Whatever the curve: ends, spikes and the beginning of a logarithmic axis stay, and there are not too many. */
static void thinning_keeps_the_picture(void **state)
{
    (void)state;
    enum { MAX = 2000 };
    static const size_t sizes[] = {2001, 2500, 4001, 16000, 100001, 399999};
    static size_t places[MAX];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t n = sizes[s], low = n / 3, high = n / 2, steep = n / 5;
        tithe_trace *trace = trace_of("many");
        dice d = {n};
        for (size_t i = 0; i < n; i++) {
            const double loss = i == low ? -5 : i == high ? 50 : 1 + 0.1 * roll_unit(&d);
            add_plain(trace, i, loss, i == steep ? 900 : 100);
        }
        const size_t count = ti_thin(trace, MAX, places);
        expect(count <= MAX && count > MAX / 4, "%zu of %zu records", count, n);
        assert_true(places[0] == 0 && places[count - 1] == n - 1);
        for (size_t i = 1; i < count; i++) assert_true(places[i] > places[i - 1]);
        expect(holds(places, count, low) && holds(places, count, high), "a spike of the loss is lost in %zu",
               n);
        expect(holds(places, count, steep), "a spike of the level is lost in %zu", n);
        for (size_t i = 0; i < 10; i++) expect(holds(places, count, i), "record %zu of %zu is lost", i, n);
        for (size_t i = 1; i < count; i++)
            expect(places[i] - places[i - 1] <= n / 100, "a hole of %zu in %zu", places[i] - places[i - 1],
                   n);
        tithe_trace_free(trace);
    }
}

static void thinning_bears_any_size_and_unknown_numbers(void **state)
{
    (void)state;
    size_t places[64];
    tithe_trace *nothing = trace_of("nothing"), *rare = trace_of("rare");
    for (size_t i = 0; i < 700; i++) {
        add_plain(nothing, i, NAN, NAN);
        add_plain(rare, i, i % 100 == 50 ? 1 : NAN, NAN); /* the loss is looked at every hundredth step */
        for (size_t max = THIN_MIN; max <= 64; max++) {
            const size_t count = ti_thin(nothing, max, places);
            assert_true(count <= max && places[0] == 0 && places[count - 1] == i);
        }
    }
    const size_t count = ti_thin(rare, 64, places);
    for (size_t i = 50; i < 700; i += 100) expect(holds(places, count, i), "the loss of step %zu is lost", i);
    tithe_trace_free(nothing);
    tithe_trace_free(rare);
}

/* ---- results -------------------------------------------------------------------------------------------- */

static tithe_trace *descending(const char *name, const double *losses, size_t count, double cost,
                               double bytes)
{
    tithe_trace *trace = trace_of(name);
    for (size_t i = 0; i < count; i++) {
        tithe_trace_record r = plain_record(i, losses[i], NAN);
        r.cost = (double)i * cost;
        r.uplink_bytes = (double)i * bytes;
        r.sent_bytes = (double)i * (bytes + 30);
        assert_int_equal(tithe_trace_add(trace, &r), TITHE_OK);
    }
    return trace;
}

static void the_last_known_value_is_the_result(void **state)
{
    (void)state;
    tithe_trace *trace = trace_of("x");
    add_plain(trace, 0, 0.7, 5);
    add_plain(trace, 1, 0.5, NAN);
    add_plain(trace, 2, NAN, NAN);
    const tithe_trace_record final = ti_summary_final(trace);
    assert_true(final.step == 2 && final.loss == 0.5 && final.level == 5 && isnan(final.gap));
    assert_true(isnan(final.accuracy)); /* a run whose gradients bring the loss states it at its end */
    assert_int_equal(tithe_trace_fact(trace, "accuracy", "0.875"), TITHE_OK);
    assert_true(ti_summary_final(trace).accuracy == 0.875);
    tithe_trace_free(trace);
}

static void savings_are_taken_at_the_same_loss(void **state)
{
    (void)state;
    static const double slow[] = {1, 0.8, 0.6, 0.5, 0.45}, fast[] = {1, 0.5, 0.3, 0.2, 0.1};
    tithe_trace *dense = descending("dense", fast, 5, 100, 1000), *ours = descending("ours", slow, 5, 2, 10);
    const tithe_trace *both[] = {ours, dense};

    assert_int_equal(ti_summary_cheaper(both, 2, 0).kind, CHEAPER_UNKNOWN);
    assert_int_equal(tithe_trace_fact(dense, "baseline", "yes"), TITHE_OK);
    /* The lowest that both reached is 0.45: ours after 4 steps for 8, dense after 2 steps for 200. */
    cheaper c = ti_summary_cheaper(both, 2, 0);
    assert_true(c.kind == CHEAPER_BASELINE && c.baseline == 1 && c.loss == 0.45 && c.times == 25);
    assert_true(ti_summary_cheaper(both, 2, 1).times == 1);
    assert_true(tithe_trace_slower(both, 2, 0) == 2 && tithe_trace_slower(both, 2, 1) == 1);
    assert_int_equal(tithe_trace_fact(dense, "estimator", "full"), TITHE_OK);
    assert_int_equal(tithe_trace_fact(ours, "estimator", "sgd"), TITHE_OK);
    assert_true(isnan(tithe_trace_slower(both, 2, 0))); /* steps of another kind */

    /* A baseline of another problem is none. */
    assert_int_equal(tithe_trace_fact(dense, "data", "a9a"), TITHE_OK);
    assert_int_equal(tithe_trace_fact(ours, "data", "w8a"), TITHE_OK);
    assert_int_equal(ti_summary_cheaper(both, 2, 0).kind, CHEAPER_UNKNOWN);
    assert_int_equal(tithe_trace_fact(ours, "dense_bytes", "1000"), TITHE_OK);
    c = ti_summary_cheaper(both, 2, 0); /* 4 steps of 1000 bytes in place of 40 */
    assert_true(c.kind == CHEAPER_DENSE && c.times == 100);
    assert_int_equal(tithe_trace_fact(ours, "dense_bytes", "many"), TITHE_OK);
    assert_int_equal(ti_summary_cheaper(both, 2, 0).kind, CHEAPER_UNKNOWN);
    tithe_trace_free(dense);
    tithe_trace_free(ours);
}

/* Steps of one row are compared with steps of one row, and by all that was sent, too. */
static void the_baseline_has_the_same_estimator(void **state)
{
    (void)state;
    static const double losses[] = {1, 0.5};
    tithe_trace *full = descending("GD", losses, 2, 100, 1000), *sgd = descending("SGD", losses, 2, 60, 600),
                *ours = descending("ours", losses, 2, 2, 10);
    const tithe_trace *all[] = {full, sgd, ours};
    for (int i = 0; i < 2; i++)
        assert_int_equal(tithe_trace_fact((tithe_trace *)all[i], "baseline", "yes"), TITHE_OK);
    assert_int_equal(tithe_trace_fact(full, "estimator", "full"), TITHE_OK);
    assert_int_equal(tithe_trace_fact(sgd, "estimator", "sgd"), TITHE_OK);
    static const struct {
        const char *estimator;
        size_t baseline;
        double up, sent;
    } rows[] = {
        {"full", 0, 50, 25.75}, {"sgd", 1, 30, 15.75}, {"lsvrg", 0, 50, 25.75} /* there is no such */};
    for (int i = 0; i < 3; i++) {
        size_t baseline = 9;
        double loss = NAN;
        assert_int_equal(tithe_trace_fact(ours, "estimator", rows[i].estimator), TITHE_OK);
        assert_true(tithe_trace_cheaper(all, 3, 2, &loss) == rows[i].up && loss == 0.5);
        assert_true(tithe_trace_cheaper_sent(all, 3, 2, &baseline) == rows[i].sent);
        assert_int_equal(baseline, rows[i].baseline);
    }
    assert_true(isnan(tithe_trace_cheaper_sent(all + 2, 1, 0, NULL))); /* alone */
    for (int i = 0; i < 3; i++) tithe_trace_free((tithe_trace *)all[i]);
}

static void a_run_without_cost_is_compared_by_bytes(void **state)
{
    (void)state;
    static const double losses[] = {1, 0.5};
    tithe_trace *dense = descending("dense", losses, 2, NAN, 1000),
                *ours = descending("ours", losses, 2, NAN, 10);
    const tithe_trace *both[] = {dense, ours};
    assert_int_equal(tithe_trace_fact(dense, "baseline", "yes"), TITHE_OK);
    assert_true(ti_summary_cheaper(both, 2, 1).times == 100);
    tithe_trace_free(dense);
    tithe_trace_free(ours);
}

/* ---- texts ---------------------------------------------------------------------------------------------- */

static void check_text(void (*write)(buffer *, const char *), const char *text, const char *expected)
{
    buffer b = {0};
    write(&b, text);
    ti_buffer_add(&b, "", 1);
    assert_string_equal(b.text, expected);
    ti_buffer_free(&b);
}

static void json_cannot_leave_its_place(void **state)
{
    (void)state;
    check_text(ti_json_text, "", "\"\"");
    check_text(ti_json_text, "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x99\x82",
               "\"plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x99\x82\"");
    check_text(ti_json_text, "</script><!--&'", "\"\\u003c/script\\u003e\\u003c!--\\u0026\\u0027\"");
    check_text(ti_json_text, "\"\\\n\x01\x7f", "\"\\u0022\\u005c\\u000a\\u0001\\u007f\"");
    check_text(ti_json_text, "a\xe2\x80\xa8\xe2\x80\xa9", "\"a\\u2028\\u2029\"");
    /* Not UTF-8: a lone byte, a lone start, too long a form, a surrogate, beyond the end, cut off. */
    check_text(ti_json_text, "\x80|\xc3|\xc0\xbc|\xed\xa0\x80|\xf4\x90\x80\x80|\xf8|\xe2\x82",
               "\"\\ufffd|\\ufffd|\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd\\ufffd|\\ufffd|"
               "\\ufffd\\ufffd\"");
}

static void html_cannot_leave_its_place(void **state)
{
    (void)state;
    check_text(ti_html_text, "</title>\"'&\n\xc3\xa4\xff",
               "&#60;/title&#62;&#34;&#39;&#38; \xc3\xa4\xef\xbf\xbd");
}

/* ---- the page ------------------------------------------------------------------------------------------- */

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word)) count++;
    return count;
}

static char *page_of(const test_path *path, const char *title, const tithe_trace *const *traces, size_t count)
{
    tithe_error error = {0};
    size_t length;
    if (tithe_report_write(path->text, title, traces, count, &error)) fail_msg("%s", error.text);
    char *page = contents_of(path->text, &length);
    assert_int_equal(strlen(page), length); /* no zero byte */
    return page;
}

static void hostile_texts_change_nothing_in_the_page(void **state)
{
    (void)state;
    static const char evil[] = "</script><script>alert(1)</script><!-- {{data}} {{title}} {{chart.min.js}} "
                               "\xe2\x80\xa8 \xff \" ' \\";
    const test_path path = path_of("page");
    tithe_trace *tame = trace_of("tame"), *wild = trace_of(evil);
    tithe_trace_record r = plain_record(1, 0.5, 3);
    assert_int_equal(tithe_trace_add(tame, &r), TITHE_OK);
    r.scheme = r.collective = r.reason = evil;
    assert_int_equal(tithe_trace_add(wild, &r), TITHE_OK);
    assert_int_equal(tithe_trace_fact(wild, "command", evil), TITHE_OK);
    assert_int_equal(tithe_trace_fact(wild, "<b>\"key", evil), TITHE_OK);
    const tithe_trace *tame_runs[] = {tame}, *wild_runs[] = {wild};
    char *plain = page_of(&path, "tame", tame_runs, 1), *page = page_of(&path, evil, wild_runs, 1);

    static const char *const words[] = {"<script", "</script>", "<!--", "Chart.js v3", "<title>", "</title>"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        expect(count_of(page, words[i]) == count_of(plain, words[i]), "%s: %zu in place of %zu", words[i],
               count_of(page, words[i]), count_of(plain, words[i]));
    assert_null(strstr(page, "alert(1)</script"));
    assert_null(
        strstr(strstr(page, "id=\"data\""), "\xe2\x80\xa8")); /* a line end to some readers of scripts */
    free(plain);
    free(page);
    tithe_trace_free(tame);
    tithe_trace_free(wild);
    unlink(path.text);
}

static void the_page_is_whole_and_asks_for_nothing(void **state)
{
    (void)state;
    const test_path path = path_of("whole");
    char *page = page_of(&path, NULL, NULL, 0);
    assert_non_null(strstr(page, "<title>Tithe report</title>"));
    assert_non_null(strstr(page, "\"runs\":[\n]}"));
    /* Every file of web/ is in it, and no name is left that nobody replaced. */
    for (const web_part *p = ti_web_parts; p->name; p++) {
        if (strcmp(p->name, "report.html") == 0) continue;
        expect(strstr(page, (const char *)p->bytes), "%s is not in the page", p->name);
        expect(!strstr((const char *)p->bytes, "</script"), "%s would end its own script", p->name);
    }
    assert_int_equal(count_of(page, "{{"), 0);
    static const char *const outside[] = {"src=", "@import", "url(", "<link rel=\"stylesheet"};
    for (size_t i = 0; i < 4; i++) expect(!strstr(page, outside[i]), "the page holds %s", outside[i]);
    assert_non_null(strstr(page, "default-src 'none'"));
    free(page);
    unlink(path.text);
}

static void numbers_are_json_in_every_country(void **state)
{
    (void)state;
    tithe_trace *trace = trace_of("numbers");
    add_plain(trace, 0, INFINITY, -INFINITY);
    add_plain(trace, 1, NAN, 0.125);
    const tithe_trace *runs[] = {trace};
    buffer b = {0};
    const bool comma = set_locale_with_comma();
    assert_true(ti_page_data(&b, runs, 1));
    setlocale(LC_ALL, "C");
    ti_buffer_add(&b, "", 1);
    assert_non_null(
        strstr(b.text, "\"numbers\":{\"step\":[0,1],\"loss\":[1e999,null],\"level\":[-1e999,0.125]}"));
    assert_non_null(strstr(b.text, "\"gap\":null"));
    ti_buffer_free(&b);
    tithe_trace_free(trace);
    if (!comma) {
        print_message("SKIP: no locale with a decimal comma is installed\n");
        skip();
    }
}

static void many_runs_share_the_points(void **state)
{
    (void)state;
    enum { RUNS = 40, RECORDS = 3000 };
    const tithe_trace *runs[RUNS];
    tithe_trace *trace = trace_of("one of many");
    for (size_t i = 0; i < RECORDS; i++) add_plain(trace, i, 1.0 / (double)(i + 1), 7);
    for (size_t i = 0; i < RUNS; i++) runs[i] = trace;
    buffer b = {0};
    assert_true(ti_page_data(&b, runs, RUNS));
    expect(b.length < 2000000, "%zu bytes", b.length);
    ti_buffer_free(&b);
    tithe_trace_free(trace);
}

static void a_page_replaces_a_file_or_leaves_it(void **state)
{
    (void)state;
    const test_path path = path_of("old"), link = path_of("link");
    FILE *old = fopen(path.text, "w");
    assert_non_null(old);
    fputs("old", old);
    fclose(old);
    assert_int_equal(chmod(path.text, 0640), 0);
    assert_int_equal(symlink(path.text, link.text), 0);
    free(page_of(&link, "new", NULL, 0));
    struct stat about;
    assert_int_equal(lstat(link.text, &about), 0);
    assert_true(S_ISLNK(about.st_mode)); /* the file behind the link was replaced, and kept its permissions */
    assert_int_equal(stat(path.text, &about), 0);
    assert_true(about.st_size > 100000 && (about.st_mode & 07777) == 0640);
    unlink(link.text);
    unlink(path.text);

    tithe_error error = {0};
    assert_int_equal(tithe_report_write("no/such/folder/page.html", NULL, NULL, 0, &error), TITHE_E_FILE);
    assert_non_null(strstr(error.text, "no/such/folder/page.html"));
    assert_int_equal(tithe_report_write(".", NULL, NULL, 0, &error), TITHE_E_FILE);
    assert_int_equal(tithe_report_write(NULL, NULL, NULL, 0, &error), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_report_write("/dev/null", NULL, NULL, 0, &error), TITHE_OK);
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_records_are_all_kept),
        cmocka_unit_test(thinning_keeps_the_picture),
        cmocka_unit_test(thinning_bears_any_size_and_unknown_numbers),
        cmocka_unit_test(the_last_known_value_is_the_result),
        cmocka_unit_test(savings_are_taken_at_the_same_loss),
        cmocka_unit_test(the_baseline_has_the_same_estimator),
        cmocka_unit_test(a_run_without_cost_is_compared_by_bytes),
        cmocka_unit_test(json_cannot_leave_its_place),
        cmocka_unit_test(html_cannot_leave_its_place),
        cmocka_unit_test(hostile_texts_change_nothing_in_the_page),
        cmocka_unit_test(the_page_is_whole_and_asks_for_nothing),
        cmocka_unit_test(numbers_are_json_in_every_country),
        cmocka_unit_test(many_runs_share_the_points),
        cmocka_unit_test(a_page_replaces_a_file_or_leaves_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
