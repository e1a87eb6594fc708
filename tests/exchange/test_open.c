/* test_open.c - an exchange from text is the one from a config; and ranks elsewhere, of which one cannot open its own. */
#include "exchange/exchange.h"
#include "exchange/group.h"
#include "queues.h"

enum { N = 300, RANKS = 3 };

static void text_is_a_config(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    assert_int_equal(tithe_exchange_open(&comm, "codec=topk:keep=0.1;seed=77", N, &ex, &error), TITHE_OK);
    group *g = group_make(&(wanted){.codec = "topk:keep=0.1", .feedback = "ec", .ranks = RANKS, .n = N});
    static float update[N];
    for (unsigned k = 0; k < 5; k++) {
        float *x = gradients_make(RANKS, N, k);
        for (unsigned r = 0; r < RANKS; r++)
            assert_int_equal(tithe_exchange_put(ex, r, 0, x + (size_t)r * N, 0.25, &error), TITHE_OK);
        assert_int_equal(tithe_exchange_finish(ex, update, &error), TITHE_OK);
        group_put_all(g, x, 0.25);
        group_finish(g);
        expect(same_floats(update, g->update, N), "another update in step %u", k);
        free(x);
    }
    group_free(g);
    tithe_exchange_free(ex);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(2);
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    static const struct {
        const char *text, *word; /* that the sentence has */
    } wrong[] = {{"codec=nothing", "nothing"},
                 {"codec=topk:keep=0.1;feedback=never", "ef21"},
                 {"codecs=raw", "codec, downlink"},
                 {"topk:keep=0.1", "topk:keep"},
                 {"codec", "codec"},
                 {"codec=", "codec"},
                 {"bucket=3", "bucket"},
                 {"seed=-1", "seed"},
                 {"level=some", "local|shared"},
                 {"scheme=web", "scheme"},
                 {"codec=raw;;feedback=ec", "option"},
                 {"deterministic=maybe", "yes or no"},
                 {"cost=gold", "gold"},
                 {"tuner=luck", "luck"},
                 {"downlink-feedback=ec", "downlink"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect(tithe_exchange_open(&comm, wrong[i].text, N, &ex, &error) != TITHE_OK, "%s is taken",
               wrong[i].text);
        expect(strstr(error.text, wrong[i].word) != NULL, "%s: %s", wrong[i].text, error.text);
        assert_null(ex);
    }
    assert_int_equal(tithe_exchange_open(NULL, "codec=raw", N, &ex, &error), TITHE_E_ARGUMENT);
    assert_null(ex);
    static const char *const fine[] = {NULL,
                                       "",
                                       "codec=raw",
                                       "codec=raw;",
                                       "codec=topk:keep=0.1|natural;overlap=off;bucket=256B",
                                       "codec=topk|sign;cost=802.15.4;level=shared",
                                       "deterministic;threads=2",
                                       "codec=natural;downlink=topk:keep=0.2;downlink-feedback=ec"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        expect(tithe_exchange_open(&comm, fine[i], N, &ex, &error) == TITHE_OK, "%s: %s", fine[i],
               error.text);
        tithe_exchange_free(ex);
        ex = NULL;
    }
}

typedef struct opener {
    pthread_t thread;
    tithe_comm *comm;
    const char *text;
    tithe_status status;
    tithe_error error;
    tithe_exchange *ex;
} opener;

static void *open_one(void *argument)
{
    opener *o = argument;
    o->ex = NULL;
    o->status = tithe_exchange_open(o->comm, o->text, N, &o->ex, &o->error);
    return NULL;
}

static void open_all(opener *all)
{
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(pthread_create(&all[r].thread, NULL, open_one, &all[r]), 0);
    for (unsigned r = 0; r < RANKS; r++) pthread_join(all[r].thread, NULL);
}

/* Nobody waits for whoever cannot open its exchange: all hear why, and may try again on the same ranks. */
static void a_failure_is_everybodys(void **state)
{
    (void)state;
    for (unsigned wrong = 0; wrong < RANKS; wrong++) {
        network net;
        network_open(&net, RANKS);
        opener all[RANKS];
        for (unsigned r = 0; r < RANKS; r++) {
            const tithe_place place = {.size = sizeof place,
                                       .ranks = RANKS,
                                       .first = r,
                                       .local = 1,
                                       .timeout = 600}; /* which nobody may reach */
            all[r] = (opener){.text = r == wrong ? "codec=topk:keeep=1" : "codec=topk:keep=0.1"};
            assert_int_equal(tithe_comm_custom(&queues, &net, &place, &all[r].comm, NULL), TITHE_OK);
        }
        open_all(all);
        char named[16];
        snprintf(named, sizeof named, "Rank %u: ", wrong);
        for (unsigned r = 0; r < RANKS; r++) {
            assert_int_equal(all[r].status, r == wrong ? TITHE_E_SPEC : TITHE_E_MISMATCH);
            expect(strstr(all[r].error.text, "keeep") != NULL, "rank %u: %s", r, all[r].error.text);
            if (r != wrong) assert_true(strncmp(all[r].error.text, named, strlen(named)) == 0);
            assert_null(all[r].ex);
            all[r].text = "codec=topk:keep=0.1";
        }
        open_all(all);
        for (unsigned r = 0; r < RANKS; r++) {
            expect(all[r].status == TITHE_OK, "rank %u: %s", r, all[r].error.text);
            assert_int_equal(all[r].ex->number, 0);
            tithe_exchange_free(all[r].ex);
            tithe_comm_free(all[r].comm);
        }
        network_close(&net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_is_a_config),
                                       cmocka_unit_test(what_makes_no_sense_is_refused),
                                       cmocka_unit_test(a_failure_is_everybodys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
