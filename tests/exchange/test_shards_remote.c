/* test_shards_remote.c - owners of parts in different processes: the bits of one process, with any number of threads, in
 * buckets and with overlap; and messages of a peer that are not what they should be, which are told in a sentence. */
#include "coll/coll.h"
#include "exchange/group.h"
#include "queues.h"

enum { MAX = 7, N = 5003, STEPS = 4 };

/* ---- ranks in threads ------------------------------------------------------------------------------------- */

typedef struct setting {
    wanted w;
    size_t bucket_bytes;
    unsigned threads; /* of each process */
    bool overlap, skips;
    bool stays, in_place; /* gradients: from put to finish; to become the update */
} setting;

typedef struct process {
    pthread_t thread;
    const setting *s;
    group *g;
    tithe_pool *pool;
    unsigned rank;
    float updates[STEPS][N];
    tithe_status status;
} process;

static bool takes_part(const setting *s, unsigned rank, unsigned step)
{
    return !s->skips || (rank + step) % 2 == 0;
}

static double gamma_at(unsigned step)
{
    return step < 2 ? 0.3 : 0.1;
}

static tithe_status put_or_skip(tithe_exchange *ex, const setting *s, unsigned rank, unsigned step,
                                tithe_error *error)
{
    static _Thread_local float x[N];
    gradient_fill(x, N, rank, step);
    if (!takes_part(s, rank, step)) return tithe_exchange_skip(ex, rank, gamma_at(step), error);
    return tithe_exchange_put(ex, rank, 0, x, gamma_at(step), error);
}

static void *run_process(void *argument)
{
    process *p = argument;
    for (unsigned k = 0; k < STEPS && !p->status; k++) {
        if (p->s->in_place) {
            gradient_fill(p->updates[k], N, p->rank, k);
            p->status = tithe_exchange_step(p->g->ex, p->updates[k], gamma_at(k), &p->g->error);
            continue;
        }
        p->status = put_or_skip(p->g->ex, p->s, p->rank, k, &p->g->error);
        if (!p->status) p->status = tithe_exchange_finish(p->g->ex, p->updates[k], &p->g->error);
    }
    if (p->status) tithe_comm_give_up(&p->g->comm, p->g->error.text);
    return NULL;
}

static void create(const setting *s, tithe_exchange_config *config, group *g)
{
    config->bucket_bytes = s->bucket_bytes;
    config->overlap = s->overlap;
    config->stays = s->stays;
    expect(tithe_exchange_create(config, N, &g->ex, &g->error) == TITHE_OK, "%s: %s", s->w.codec,
           g->error.text);
}

static process *start(const setting *s, const tithe_transport *transport, void *self)
{
    process *all = calloc(MAX, sizeof *all);
    for (unsigned r = 0; r < s->w.ranks; r++) {
        tithe_exchange_config config;
        process *p = &all[r];
        *p = (process){.s = s, .rank = r, .g = group_start(&s->w, &config)};
        p->g->comm = (tithe_comm){
            .size = s->w.ranks, .first = r, .local = 1, .transport = transport, .self = self, .timeout = 60};
        if (s->threads > 1) assert_int_equal(tithe_pool_create(s->threads, &p->pool, NULL), TITHE_OK);
        config.pool = p->pool;
        config.lanes = 1;
        create(s, &config, p->g);
    }
    for (unsigned r = 0; r < s->w.ranks; r++)
        assert_int_equal(pthread_create(&all[r].thread, NULL, run_process, &all[r]), 0);
    for (unsigned r = 0; r < s->w.ranks; r++) pthread_join(all[r].thread, NULL);
    return all;
}

static void stop(process *all, unsigned ranks)
{
    for (unsigned r = 0; r < ranks; r++) {
        group_free(all[r].g);
        tithe_pool_free(all[r].pool);
    }
    free(all);
}

/* ---- the same bits ---------------------------------------------------------------------------------------- */

static void check_owned(const process *p, tithe_exchange *here)
{
    const float *kept = tithe_exchange_server_residual(p->g->ex);
    for (unsigned b = 0; kept && b < tithe_exchange_buckets(here); b++) {
        size_t begin;
        const size_t count = tithe_exchange_owned(p->g->ex, p->rank, b, &begin);
        if (!count) continue;
        assert_true(same_floats(kept + begin, tithe_exchange_server_residual(here) + begin, count));
    }
}

static void check_setting(const setting *s)
{
    network net;
    network_open(&net, s->w.ranks);
    process *all = start(s, &queues, &net);
    tithe_exchange_config config;
    group *here = group_start(&s->w, &config);
    create(s, &config, here);
    for (unsigned k = 0; k < STEPS; k++) {
        for (unsigned r = 0; r < s->w.ranks; r++)
            assert_int_equal(put_or_skip(here->ex, s, r, k, &here->error), TITHE_OK);
        group_finish(here);
        for (unsigned r = 0; r < s->w.ranks; r++) {
            expect(all[r].status == TITHE_OK, "%s: %s", s->w.codec, all[r].g->error.text);
            expect(same_floats(all[r].updates[k], here->update, N),
                   "%s, %u ranks, %u threads, buckets of %zu: rank %u has other bits in step %u", s->w.codec,
                   s->w.ranks, s->threads, s->bucket_bytes, r, k);
        }
    }
    double sent = 0, up = 0, back = 0;
    for (unsigned r = 0; r < s->w.ranks; r++) {
        const tithe_exchange_totals t = totals_of(all[r].g->ex);
        sent += t.sent_bytes;
        up += t.uplink_bytes;
        back += t.downlink_bytes;
        check_owned(&all[r], here->ex);
        if (here->feedback->keeps)
            assert_true(same_floats(tithe_exchange_residual(all[r].g->ex, r),
                                    tithe_exchange_residual(here->ex, r), N));
    }
    const tithe_exchange_totals t = totals_of(here->ex);
    expect(sent == t.sent_bytes && up == t.uplink_bytes && back == t.downlink_bytes,
           "%s: sent %g (%g), up %g (%g), back %g (%g)", s->w.codec, sent, t.sent_bytes, up, t.uplink_bytes,
           back, t.downlink_bytes);
    assert_true(network_is_empty(&net));
    stop(all, s->w.ranks);
    group_free(here);
    network_close(&net);
}

static void bits_are_those_of_one_process(void **state)
{
    (void)state;
    static const wanted ways[] = {{.codec = "natural"},
                                  {.codec = "natural", .feedback = "ec", .collective = "ring"},
                                  {.codec = "all|dither:s=7,bucket=64", .feedback = "ec"},
                                  {.codec = "topk:keep=0.05|natural", .feedback = "ec"},
                                  {.codec = "threshold:lambda=2", .feedback = "ec", .collective = "ring"},
                                  {.codec = "f16", .collective = "ring"}};
    static const unsigned sizes[] = {2, 3, 7};
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        for (unsigned z = 0; z < sizeof sizes / sizeof *sizes; z++)
            for (unsigned how = 0; how < 9; how++) {
                setting s = {.w = ways[i],
                             .threads = 1 + how % 3,
                             .bucket_bytes = how < 2 || how > 5 ? 0 : 7000,
                             .overlap = how == 3,
                             .skips = (how == 4 || how == 8) && sizes[z] % 2 == 0,
                             .stays = how == 5 || how == 6 || how == 8,
                             .in_place = how == 7};
                s.w.scheme = "shards";
                s.w.ranks = sizes[z];
                s.w.n = N;
                s.w.taking_part = s.skips ? sizes[z] / 2 : 0;
                check_setting(&s);
            }
}

/* Whose frames have a length that all know sends no word of skipping: it has to be agreed on. */
static void a_skip_must_be_expected(void **state)
{
    (void)state;
    const setting s = {
        .w = {.codec = "natural", .scheme = "shards", .ranks = 3, .n = N}, .threads = 1, .skips = true};
    network net;
    network_open(&net, 3);
    process *all = start(&s, &queues, &net);
    assert_int_equal(all[1].status, TITHE_E_ARGUMENT);
    assert_non_null(strstr(all[1].g->error.text, "taking_part"));
    for (unsigned r = 0; r < 3; r++) assert_true(all[r].status != TITHE_OK);
    stop(all, 3);
    network_close(&net);
}

/* ---- a peer that lies ------------------------------------------------------------------------------------- */

typedef enum lie { FLIP, CUT, LENGTHEN, ZERO, LARGE, NOISE, SHORTEN, FORGE, LIES } lie;
enum { HEAD_BYTES = TITHE_LENGTH_BYTES };

/* Rank 1 says something else in its `which`-th message, and after SHORTEN keeps to it. */
typedef struct liar {
    network net;
    unsigned which, sent; /* by rank 1 */
    lie how;
    size_t place, announced; /* bytes of its next frame; 0: as they are */
    bool told, as_head;      /* a lie, in place of a length */
} liar;

static tithe_status lying_send(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                               tithe_error *error)
{
    liar *l = self;
    if (from == 1 && l->announced && length > l->announced) {
        const size_t announced = l->announced;
        l->announced = 0;
        return queue_send(&l->net, from, to, bytes, announced, error);
    }
    if (from != 1 || l->sent++ != l->which || length == 0)
        return queue_send(&l->net, from, to, bytes, length, error);
    uint8_t *other = calloc(1, length + 1);
    size_t said = length;
    dice d = {l->place + 1};
    memcpy(other, bytes, length);
    switch (l->how) {
    case FLIP: other[l->place % length] ^= (uint8_t)(1 << l->place % 8); break;
    case CUT: said = l->place % length; break;
    case LENGTHEN: said = length + 1; break;
    case ZERO: memset(other, 0, length); break;
    case LARGE: memset(other, 0xff, length); break;
    case FORGE:
        other[l->place % length] ^= (uint8_t)(1 << l->place % 8);
        if (length > HEAD_BYTES) repair_checksum(other, length);
        break;
    case SHORTEN:
        if (length != HEAD_BYTES || coll_get_length(other) < 20) break;
        l->announced = coll_get_length(other) - 5;
        coll_put_length(other, l->announced);
        break;
    default:
        for (size_t i = 0; i < length; i++) other[i] = (uint8_t)roll(&d);
    }
    l->told = said != length || memcmp(other, bytes, length) != 0;
    l->as_head = length == HEAD_BYTES;
    const tithe_status status = queue_send(&l->net, from, to, other, said, error);
    free(other);
    return status;
}

static tithe_status lying_receive(void *self, unsigned at, unsigned from, void *bytes, size_t length,
                                  double timeout, tithe_error *error)
{
    return queue_receive(&((liar *)self)->net, at, from, bytes, length, timeout, error);
}

static void lying_give_up(void *self, const char *why)
{
    queue_give_up(&((liar *)self)->net, why);
}

static const tithe_transport lies = {
    .size = sizeof(tithe_transport),
    .name = "lies",
    .summary = "queues, but for one message",
    .send = lying_send,
    .receive = lying_receive,
    .flush = queue_flush,
    .give_up = lying_give_up,
};

/* Who says that it skips, or sends a frame that is one, is believed. */
static bool is_believed(const liar *l)
{
    return (l->how == ZERO && l->as_head) || (l->how == FORGE && !l->as_head);
}

static void check_lie(const setting *s, unsigned which, lie how, size_t place)
{
    liar l = {.which = which, .how = how, .place = place};
    network_open(&l.net, s->w.ranks);
    process *all = start(s, &lies, &l);
    unsigned complain = 0;
    for (unsigned r = 0; r < s->w.ranks; r++) {
        const char *text = all[r].g->error.text;
        if (!all[r].status) continue;
        complain++;
        expect(strlen(text) > 10 && text[strlen(text) - 1] == '.' && !strchr(text, '\n'), "'%s'", text);
    }
    if (l.told && !is_believed(&l))
        expect(complain > 0, "%s over %s: message %u, lie %d: nobody noticed", s->w.codec, s->w.collective,
               which, (int)how);
    if (!l.told) assert_int_equal(complain, 0);
    stop(all, s->w.ranks);
    network_close(&l.net);
}

static void lies_are_told_of(void **state)
{
    (void)state;
    static const wanted ways[] = {
        {.scheme = "shards", .codec = "natural", .collective = "direct"},
        {.scheme = "shards", .codec = "natural", .collective = "ring"},
        {.scheme = "shards", .codec = "topk:keep=0.05", .feedback = "ec", .collective = "direct"},
        {.scheme = "shards", .codec = "topk:keep=0.05", .feedback = "ec", .collective = "ring"},
        {.scheme = "gather", .codec = "natural", .collective = "ring"},
        {.scheme = "gather", .codec = "topk:keep=0.05", .feedback = "ec", .collective = "ring"}};
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        for (unsigned which = 0; which < 14;
             which++) /* of some steps: heads, frames, and what is passed on */
            for (unsigned how = 0; how < LIES; how++)
                for (size_t place = 0; place < (how == FLIP || how == CUT || how == FORGE ? 300 : 1);
                     place += 37) {
                    setting s = {.w = ways[i], .threads = 1};
                    s.w.ranks = 3;
                    s.w.n = N;
                    check_lie(&s, which, (lie)how, place);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_those_of_one_process),
        cmocka_unit_test(a_skip_must_be_expected),
        cmocka_unit_test(lies_are_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
