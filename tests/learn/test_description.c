/* test_description.c - what a run is: two ranks, and a server, that were started with different options hear so at once and in
 * the same words, for every option that has to agree. Ranks are threads over the queues of queues.h.
 *
 *     unit_learn_description --names       # the table of options, for tests/cli/test_run_options.py */
#include <unistd.h>

#include "aggregate/reduction.h"
#include "learn/run_options.h"
#include "learn/runs.h"
#include "queues.h"

#define SMALL "gen:sparse:rows=60,features=12,density=0.4,noise=0.5"

enum { PAIR = 2, DEADLINE = 60 };

/* ---- ranks that are threads -------------------------------------------------------------------------------- */

typedef struct process {
    pthread_t thread;
    tithe_train_options o;
    tithe_comm comm;
    bool serves;
    tithe_status status;
    tithe_error error;
} process;

static void *run_process(void *argument)
{
    process *p = argument;
    tithe_train_result result = {0};
    p->status = p->serves ? tithe_train_serve(&p->o, &p->error) : tithe_train_run(&p->o, &result, &p->error);
    return NULL;
}

/* Two ranks, and with `server` a third process that has none. */
typedef struct group {
    network net;
    process all[PAIR + 1];
    unsigned count;
} group;

static group *group_start(bool server)
{
    group *g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->count = PAIR + server;
    network_open(&g->net, g->count);
    for (unsigned i = 0; i < g->count; i++) {
        process *p = &g->all[i];
        p->serves = i == PAIR;
        p->comm = (tithe_comm){.size = PAIR,
                               .first = i,
                               .local = !p->serves,
                               .server = server ? PAIR : 0,
                               .transport = &queues,
                               .self = &g->net,
                               .timeout = DEADLINE};
        p->o = train_defaults();
        p->o.data = SMALL;
        p->o.workers = PAIR;
        p->o.steps = 3;
        p->o.cache = "";
        p->o.threads = 1;
        p->o.comm = &p->comm;
    }
    return g;
}

static void group_run(group *g)
{
    for (unsigned i = 0; i < g->count; i++)
        assert_int_equal(pthread_create(&g->all[i].thread, NULL, run_process, &g->all[i]), 0);
    for (unsigned i = 0; i < g->count; i++) pthread_join(g->all[i].thread, NULL);
}

static void group_free(group *g)
{
    network_close(&g->net);
    free(g);
}

static void set(process *p, const char *name, const char *text)
{
    tithe_error error = {0};
    expect(!text || tithe_train_options_set(&p->o, name, text, &error) == TITHE_OK, "%s: %s", name,
           error.text);
}

/* ---- two values of each option ------------------------------------------------------------------------------ */

typedef struct sample {
    const char *name;
    const char *first, *second; /* NULL: not given */
    const char *besides[2][2];  /* options without which it would be refused on other grounds */
} sample;

static char folder[64], kept_here[96];

static const sample samples[] = {
    {"data", SMALL, "gen:sparse:rows=50,features=12", {{0}}},
    {"positive", NULL, "label<=0", {{0}}},
    {"normalize", NULL, "rows", {{0}}},
    {"model", "logistic", "least-squares", {{0}}},
    {"l2", NULL, "0.25", {{0}}},
    {"workers", "2", "3", {{0}}},
    {"split", "shuffled", "sorted", {{0}}},
    {"estimator", NULL, "lsvrg", {{0}}},
    {"sampling", "uniform", "importance", {{"estimator", "sgd"}}},
    {"batch", "3", "4", {{"estimator", "minibatch"}}},
    {"local-steps", NULL, "2", {{0}}},
    {"average", "none", "tail", {{0}}},
    {"momentum", NULL, "0.5", {{0}}},
    {"step-size", "0.1", "0.2", {{0}}},
    {"steps", "3", "4", {{0}}},
    {"epochs", NULL, "5", {{0}}},
    {"target-loss", NULL, "0.1", {{0}}},
    {"target-gap", "0.1", "0.2", {{0}}},
    {"seed", "1", "2", {{0}}},
    {"no-optimum", "no", "yes", {{0}}},
    {"exact", "no", "yes", {{0}}},
    {"codec", "topk:k=2", "topk:k=3", {{0}}},
    {"downlink", NULL, "topk:k=4", {{"codec", "natural"}}},
    {"feedback", NULL, "ef21", {{"codec", "topk:k=2"}}},
    {"downlink-feedback", "none", "ec", {{"downlink", "topk:k=4"}}},
    {"scheme", NULL, "star", {{"codec", "topk:k=2"}}},
    {"collective", "ring", "tree", {{0}}},
    {"leader", NULL, "variance", {{"codec", "topk:k=2"}, {"scheme", "artopk"}}},
    {"bucket", "off", "64", {{0}}},
    {"tuner", "fixed", "cat", {{"codec", "topk:k=2"}}},
    {"level", NULL, "shared", {{"codec", "topk"}, {"tuner", "cat"}}},
    {"cost", NULL, "802.15.4", {{"tuner", "fixed"}}},
    {"clients", NULL, "1/round", {{"tuner", "fixed"}}},
    {"count", "frame", "paper", {{0}}},
    {"on-nonfinite", "fail", "skip", {{0}}},
    {"checkpoint", NULL, kept_here, {{0}}},
    {"every", "1", "2", {{"checkpoint", kept_here}}},
    {"resume", NULL, kept_here, {{"tuner", "fixed"}}},
};

static const sample *sample_of(const char *name)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        if (strcmp(samples[i].name, name) == 0) return &samples[i];
    return NULL;
}

static void give_besides(group *g, const sample *s)
{
    for (unsigned i = 0; i < g->count; i++)
        for (int b = 0; b < 2; b++)
            if (s->besides[b][0]) set(&g->all[i], s->besides[b][0], s->besides[b][1]);
}

/* What the sentence calls the value: whether a file was named is all that counts for some. */
static const char *named(const sample *s, const char *value)
{
    const bool file = ti_option_find(s->name)->flags & TITHE_OPTION_EVERYWHERE;
    return !value ? "" : file ? "yes" : value;
}

/* All processes refuse, in one sentence that names the option and both sides. */
static void expect_refusal(const group *g, const sample *s, const char *who)
{
    const char *sentence = g->all[0].error.text;
    for (unsigned i = 0; i < g->count; i++) {
        const process *p = &g->all[i];
        expect(p->status == TITHE_E_MISMATCH, "--%s, process %u: status %d, %s", s->name, i, (int)p->status,
               p->error.text);
        expect(strcmp(p->error.text, sentence) == 0, "--%s: '%s', but '%s'", s->name, sentence,
               p->error.text);
    }
    char words[64];
    snprintf(words, sizeof words, "has %s ", s->name);
    expect(strstr(sentence, words) && strstr(sentence, who), "--%s is not named: %s", s->name, sentence);
    expect(strstr(sentence, named(s, s->first)) && strstr(sentence, named(s, s->second)),
           "--%s: a side is missing: %s", s->name, sentence);
}

/* ---- the handshake ------------------------------------------------------------------------------------------ */

static void what_has_to_agree_is_named_on_both_sides(void **state)
{
    (void)state;
    for (const tithe_option *row = tithe_train_option_table(); row->name; row++) {
        if (!(row->flags & (TITHE_OPTION_AGREES | TITHE_OPTION_EVERYWHERE)) ||
            strcmp(row->name, "network") == 0)
            continue;
        const sample *s = sample_of(row->name);
        expect(s != NULL, "--%s has to agree: give it two values in this test", row->name);
        for (int odd = 0; odd < PAIR; odd++) { /* either side may be the one that differs */
            group *g = group_start(false);
            give_besides(g, s);
            set(&g->all[odd], s->name, s->second);
            set(&g->all[!odd], s->name, s->first);
            group_run(g);
            expect_refusal(g, s, "but rank 1");
            group_free(g);
        }
    }
}

/* Over a real transport there is no computed network, on any side. */
static void a_network_is_refused_by_name(void **state)
{
    (void)state;
    group *g = group_start(false);
    set(&g->all[1], "network", "C1");
    group_run(g);
    for (unsigned i = 0; i < PAIR; i++)
        expect(g->all[i].status && strstr(g->all[i].error.text, "`network`"), "%s", g->all[i].error.text);
    group_free(g);
}

static void a_server_compares_what_it_needs(void **state)
{
    (void)state;
    for (const tithe_option *row = tithe_train_option_table(); row->name; row++) {
        if (!(row->flags & TITHE_OPTION_SERVER)) continue;
        const sample *s = sample_of(row->name);
        expect(s != NULL, "the server needs --%s: give it two values in this test", row->name);
        group *g = group_start(true);
        give_besides(g, s);
        for (unsigned i = 0; i < PAIR; i++) set(&g->all[i], s->name, s->first);
        set(&g->all[PAIR], s->name, s->second);
        g->all[PAIR].o.data = NULL;
        group_run(g);
        expect_refusal(g, s, "The server");
        group_free(g);
    }
}

static void expect_run(const group *g, const char *what)
{
    for (unsigned i = 0; i < g->count; i++)
        expect(g->all[i].status == TITHE_OK, "%s, process %u: %s", what, i, g->all[i].error.text);
}

/* Each default, stated by one side alone; and what a codec makes of the others. */
static void a_default_that_is_stated_is_no_difference(void **state)
{
    (void)state;
    static const char *const chosen[][2] = {
        {"feedback", "ec"},      {"tuner", "fixed"},        {"scheme", "gather"}, {"collective", "allgather"},
        {"clients", "2/round"},  {"codec", "topk:k=2|raw"}, {"batch", "7"},       {"threads", "2"},
        {"deterministic", NULL}, {"overlap", "off"},        {"features", "12"}};
    for (int server = 0; server < 2; server++) {
        group *g = group_start(server);
        process *odd = &g->all[server ? PAIR : 1];
        for (unsigned i = 0; i < g->count; i++) set(&g->all[i], "codec", "topk:k=2");
        for (const tithe_option *row = tithe_train_option_table(); row->name; row++)
            if (row->fallback && strcmp(row->name, "workers") != 0 && strcmp(row->name, "codec") != 0)
                set(odd, row->name, row->fallback);
        for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
            tithe_error error = {0};
            expect(!tithe_train_options_set(&odd->o, chosen[i][0], chosen[i][1], &error), "%s", error.text);
        }
        group_run(g);
        expect_run(g, server ? "a server with defaults" : "a rank with defaults");
        group_free(g);
    }
}

/* ---- what is in files --------------------------------------------------------------------------------------- */

static const char *write_text(const char *name, const char *line, int times)
{
    static char paths[4][128];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < times; i++) fputs(line, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void expect_named(const group *g, const char *key)
{
    for (unsigned i = 0; i < g->count; i++)
        expect(g->all[i].status == TITHE_E_MISMATCH && strstr(g->all[i].error.text, key), "%s: status %d, %s",
               key, (int)g->all[i].status, g->all[i].error.text);
}

/* The same weights under two names are one sampling; other weights under the same kind of name are not. */
static void contents_of_files_count_and_not_their_names(void **state)
{
    (void)state;
    for (int differ = 0; differ < 2; differ++) {
        group *g = group_start(false);
        for (int i = 0; i < PAIR; i++) set(&g->all[i], "estimator", "sgd");
        set(&g->all[0], "sampling", write_text("weights-a", "1 2 3\n", 20));
        set(&g->all[1], "sampling", write_text("weights-b", differ ? "3 2 1\n" : "1 2 3\n", 20));
        group_run(g);
        if (differ)
            expect_named(g, "sampling");
        else
            expect_run(g, "the same weights");
        group_free(g);

        char costs[2][160];
        g = group_start(false);
        snprintf(costs[0], sizeof costs[0], "table:%s", write_text("cost-a", "0,0.5\n100,1\n", 1));
        snprintf(costs[1], sizeof costs[1], "table:%s",
                 write_text("cost-b", differ ? "0,0.5\n100,2\n" : "0,0.5\n100,1\n", 1));
        for (int i = 0; i < PAIR; i++) set(&g->all[i], "cost", costs[i]);
        group_run(g);
        if (differ)
            expect_named(g, "cost");
        else
            expect_run(g, "the same costs");
        group_free(g);
    }
}

static void data_is_compared_by_its_rows(void **state)
{
    (void)state;
    const char *rows = "+1 1:0.5 3:1\n-1 2:1\n+1 1:1 2:0.5\n-1 3:2\n";
    for (int differ = 0; differ < 2; differ++) {
        group *g = group_start(false);
        set(&g->all[0], "data", write_text("rows-a", rows, 5));
        set(&g->all[1], "data", write_text("rows-b", rows, 5 + differ));
        group_run(g);
        if (differ)
            expect_named(g, "data");
        else
            expect_run(g, "the same rows");
        group_free(g);
    }
    group *g = group_start(false); /* the same set, read in another way */
    set(&g->all[1], "features", "20");
    group_run(g);
    expect_named(g, "20 features");
    group_free(g);
}

/* A description has no longest length, and of a long value the part is shown that differs. */
static void a_long_description_is_compared_to_its_end(void **state)
{
    (void)state;
    enum { COSTS = 500 };
    static char costs[PAIR][COSTS * 24];
    for (int i = 0; i < PAIR; i++) {
        costs[i][0] = 0;
        for (int c = 0; c < COSTS; c++) strcat(costs[i], "affine:c0=100,c1=1;");
        strcat(costs[i], i ? "affine:c0=102,c1=1" : "affine:c0=101,c1=1");
    }
    group *g = group_start(false);
    for (int i = 0; i < PAIR; i++) set(&g->all[i], "cost", costs[i]);
    group_run(g);
    expect_named(g, "c0=101");
    expect_named(g, "c0=102");
    group_free(g);
}

/* All ranks have a switch, or none has; a server needs none. */
static void a_switch_is_everybodys(void **state)
{
    (void)state;
    for (unsigned attached = 0; attached < 4; attached++)
        for (int server = 0; server < 2; server++) {
            group *g = group_start(server);
            for (unsigned i = 0; i < PAIR; i++) {
                void *self = NULL;
                if (!(attached >> i & 1)) continue;
                assert_int_equal(ti_simulated_switch(PAIR, &self, NULL), TITHE_OK);
                ti_comm_attach(&g->all[i].comm, &ti_aggregator_simulated, self);
            }
            for (unsigned i = 0; i < g->count; i++) set(&g->all[i], "tuner", "fixed");
            group_run(g);
            if (attached == 0 || attached == 3)
                expect_run(g, "a switch");
            else
                expect_named(g, "switch (not given)");
            for (unsigned i = 0; i < PAIR; i++) ti_comm_detach(&g->all[i].comm);
            group_free(g);
        }
}

/* A process that fails ahead of the handshake does not leave the others waiting. */
static void who_cannot_start_says_so(void **state)
{
    (void)state;
    group *g = group_start(true);
    set(&g->all[1], "data", "/nowhere/at-all");
    group_run(g);
    for (unsigned i = 0; i < g->count; i++)
        expect(g->all[i].status && strstr(g->all[i].error.text, "at-all"), "process %u: %s", i,
               g->all[i].error.text);
    group_free(g);
}

/* ---- the table ---------------------------------------------------------------------------------------------- */

static void what_is_set_is_what_one_gets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (int second = 0; second < 2; second++) {
            tithe_train_options o = train_defaults();
            const char *value = second ? samples[i].second : samples[i].first;
            char text[128] = "";
            if (!value) continue;
            assert_int_equal(tithe_train_options_set(&o, samples[i].name, value, NULL), TITHE_OK);
            assert_true(tithe_train_options_get(&o, samples[i].name, text, sizeof text));
            expect(strcmp(text, value) == 0, "--%s is %s, not %s", samples[i].name, text, value);
        }
}

static void what_is_no_value_is_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"workers", "0"},     {"workers", "-1"},     {"workers", "100001"},
        {"workers", " 3"},    {"seed", "1e3"},       {"seed", "18446744073709551616"},
        {"l2", "-1"},         {"l2", "nan"},         {"momentum", "1"},
        {"momentum", "0.5x"}, {"epochs", "0"},       {"target-gap", "inf"},
        {"split", "random"},  {"count", "frames"},   {"count", "frame|paper"},
        {"clients", "0"},     {"clients", "3/step"}, {"clients", "/round"},
        {"bucket", "63"},     {"bucket", "1 MiB"},   {"bucket", "1MB,2MB"},
        {"bucket", "-1MiB"},  {"bucket", "layers"},  {"no-optimum", "on"},
        {"codec", ""},        {"local steps", "1"},  {"", "1"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tithe_train_options o = train_defaults();
        tithe_error error = {0};
        expect(tithe_train_options_set(&o, bad[i][0], bad[i][1], &error) == TITHE_E_ARGUMENT && *error.text,
               "--%s '%s' was taken", bad[i][0], bad[i][1]);
    }
}

static bool in_list(const char *const *list, const char *name)
{
    for (; *list; list++)
        if (strcmp(*list, name) == 0) return true;
    return false;
}

/* The other tests walk the flags, so a flag that is lost would take its test along. Whoever changes these lists changes what
 * users may do, and docs/checkpoint.md. */
static void flags_are_where_they_should_be(void **state)
{
    (void)state;
    static const char *const own[] = {"features", "max-memory", "overlap", "threads", "deterministic", NULL};
    static const char *const not_saved[] = {"max-memory", "threads", "checkpoint", "every", "resume", NULL};
    static const char *const may_change[] = {"positive",   "normalize",     "features",     "step-size",
                                             "steps",      "epochs",        "target-loss",  "target-gap",
                                             "no-optimum", "exact",         "collective",   "overlap",
                                             "network",    "deterministic", "on-nonfinite", NULL};
    static const char *const of_messages[] = {
        "workers", "seed",       "codec",  "downlink",     "feedback", "downlink-feedback",
        "scheme",  "collective", "leader", "bucket",       "tuner",    "level",
        "cost",    "clients",    "count",  "on-nonfinite", NULL};
    static const char *const later[] = {"data",   "model",  "l2",   "sampling",          "batch",
                                        "scheme", "leader", "cost", "downlink-feedback", NULL};
    for (const tithe_option *row = tithe_train_option_table(); row->name; row++) {
        const unsigned together = TITHE_OPTION_AGREES | TITHE_OPTION_EVERYWHERE;
        expect(!(row->flags & together) == in_list(own, row->name), "--%s and the others", row->name);
        expect(!(row->flags & TITHE_OPTION_SAVED) == in_list(not_saved, row->name), "--%s, saved", row->name);
        expect(!!(row->flags & TITHE_OPTION_CHANGES) == in_list(may_change, row->name), "--%s, changed",
               row->name);
        expect(!!(row->flags & TITHE_OPTION_SERVER) == in_list(of_messages, row->name), "--%s, the server",
               row->name);
        expect(!!(row->flags & TITHE_OPTION_LATER) == in_list(later, row->name), "--%s, later", row->name);
    }
}

static void defaults_are_those_of_the_table(void **state)
{
    (void)state;
    const tithe_train_options o = train_defaults();
    assert_true(o.workers == 1 && !o.batch && o.local_steps == 1 && o.seed == 1 && o.l2 < 0);
    assert_true(isnan(o.target_loss) && isnan(o.target_gap) && o.momentum == 0 && !o.steps && o.epochs == 0);
    assert_true(o.overlap && !o.count_paper && !o.shared_level && !o.clients && !o.bucket_bytes && !o.codec);
}

/* A program that was compiled against an older header, whose options end earlier. */
static void shorter_options_have_fewer_options(void **state)
{
    (void)state;
    const uint64_t untouched = 0x5555555555555555u;
    tithe_train_options o;
    tithe_error error = {0};
    memset(&o, 0x55, sizeof o);
    o.size = offsetof(tithe_train_options, seed);
    tithe_train_defaults(&o);
    assert_true(o.size == offsetof(tithe_train_options, seed) && o.seed == untouched && o.workers == 1);
    assert_int_equal(tithe_train_options_set(&o, "codec", "natural", NULL), TITHE_OK);
    assert_int_equal(tithe_train_options_set(&o, "seed", "3", &error), TITHE_E_ARGUMENT);
    assert_true(o.seed == untouched && !tithe_train_options_get(&o, "seed", NULL, 0));
    assert_int_equal(tithe_train_check(&o, NULL), TITHE_OK);
    o.size = 0;
    assert_int_equal(tithe_train_check(&o, &error), TITHE_E_ARGUMENT);
    assert_non_null(strstr(error.text, "`size`"));
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tithe-description-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(kept_here, sizeof kept_here, "%s/kept", folder);
    tithe_train_options o = train_defaults(); /* a checkpoint that can be resumed */
    tithe_train_result result = {0};
    o.data = SMALL;
    o.workers = PAIR;
    o.steps = 1;
    o.cache = "";
    o.checkpoint = kept_here;
    return (int)tithe_train_run(&o, &result, NULL);
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--names") == 0) {
        for (const tithe_option *row = tithe_train_option_table(); row->name; row++) puts(row->name);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_to_agree_is_named_on_both_sides),
        cmocka_unit_test(a_network_is_refused_by_name),
        cmocka_unit_test(a_server_compares_what_it_needs),
        cmocka_unit_test(a_default_that_is_stated_is_no_difference),
        cmocka_unit_test(contents_of_files_count_and_not_their_names),
        cmocka_unit_test(data_is_compared_by_its_rows),
        cmocka_unit_test(a_long_description_is_compared_to_its_end),
        cmocka_unit_test(a_switch_is_everybodys),
        cmocka_unit_test(who_cannot_start_says_so),
        cmocka_unit_test(what_is_set_is_what_one_gets),
        cmocka_unit_test(what_is_no_value_is_refused),
        cmocka_unit_test(flags_are_where_they_should_be),
        cmocka_unit_test(defaults_are_those_of_the_table),
        cmocka_unit_test(shorter_options_have_fewer_options),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
