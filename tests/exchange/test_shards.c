/* test_shards.c - owners of parts: a step against the same step by codec calls alone, to the bit, with the bytes that are
 * counted and sent; nothing is lost; short vectors; and what is refused leaves no trace. */
#include "exchange/group.h"

/* ---- a step by codec calls alone -------------------------------------------------------------------------- */

/* A part: whose it is, and where. */
typedef struct owned_part {
    unsigned owner;
    size_t begin, length;
} owned_part;

static unsigned parts_of(const tithe_exchange *ex, unsigned ranks, owned_part *parts)
{
    unsigned count = 0;
    for (unsigned r = 0; r < ranks; r++) {
        size_t begin;
        const size_t length = tithe_exchange_owned(ex, r, 0, &begin);
        if (length) parts[count++] = (owned_part){r, begin, length};
    }
    return count;
}

/* One frame of a part: v = C(x) as its receiver sees it. Returns its bytes. */
static double message_of(const tithe_codec *codec, uint32_t step, uint32_t rank, uint32_t tensor,
                         double level, const float *x, size_t n, float *v)
{
    const size_t more = 64 * (size_t)level; /* the level may be above the codec's own */
    const size_t bound = tithe_codec_bound(codec, n) + more, scratch = tithe_codec_scratch(codec, n) + more;
    uint8_t *frame = malloc(bound + 1);
    const tithe_call call = {.seed = SEED,
                             .step = step,
                             .rank = rank,
                             .tensor = tensor,
                             .form = TITHE_EXCHANGE,
                             .level = level,
                             .scratch = malloc(scratch + 1),
                             .scratch_size = scratch};
    tithe_frame_info info;
    tithe_error error = {0};
    assert_true(frame && call.scratch);
    expect(tithe_encode(codec, &call, x, n, frame, bound, &info, &error) == TITHE_OK, "%s", error.text);
    memset(v, 0, n * sizeof *v);
    expect(tithe_decode_add(codec, &call, frame, info.bytes, 1, v, n, &error) == TITHE_OK, "%s", error.text);
    free(frame);
    free(call.scratch);
    return (double)info.bytes;
}

enum { RANKS = 5, N = 3001, STEPS = 3, K = 200 };

typedef struct method {
    const char *codec, *feedback, *downlink, *collective;
    double up_k, back_k, lambda; /* stated levels of each part, in proportion; 0: none */
    size_t top;                  /* stated of the whole vector, up and back; 0: none */
    bool heads, back_heads;
} method;

static const method methods[] = {
    {.codec = "natural"},
    {.codec = "all|f16", .feedback = "ec"},
    {.codec = "all|f16"},
    {.codec = "natural", .feedback = "ec", .collective = "ring"},
    {.codec = "all|dither:s=7,bucket=96", .feedback = "ec"},
    {.codec = "all|dither:s=7", .downlink = "all|raw"},
    {.codec = "topk:keep=0.05|natural", .feedback = "ec", .top = 150, .heads = true, .back_heads = true},
    {.codec = "topk:k=200", .feedback = "ec", .top = K, .heads = true, .back_heads = true},
    {.codec = "topk:k=200", .collective = "ring", .top = K, .heads = true, .back_heads = true},
    {.codec = "topk:k=3", .feedback = "ec", .top = 3, .heads = true, .back_heads = true},
    {.codec = "randk:k=200", .downlink = "topk:k=200", .up_k = K, .back_k = K, .back_heads = true},
    {.codec = "stochastic:k=200", .downlink = "natural", .up_k = K, .heads = true},
    {.codec = "threshold:lambda=2", .feedback = "ec", .lambda = 2, .heads = true, .back_heads = true},
};

static double level_of(double k, size_t length)
{
    return k > 0 ? fmax(1, round(k * (double)length / N)) : 0;
}

/* What all have kept, and what was counted, beside an exchange that should say the same. */
typedef struct mirror {
    const method *m;
    group *g;
    tithe_codec *down;
    owned_part parts[RANKS];
    unsigned count;
    float e[RANKS][N], owners[N], update[N];
    double entries[RANKS + 1]
                  [RANKS]; /* of the largest of the whole vector: of each rank, and of owners, in each part */
    double up, back, sent;
} mirror;

static int descending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* How many of the largest lie in each part; one where none does. Owners send as many as they were sent, on average. */
static void spread(mirror *t, const float *x, double gamma)
{
    static float sizes[N], sorted[N];
    for (unsigned r = 0; r < RANKS; r++) {
        for (size_t i = 0; i < N; i++) {
            const float own = x[(size_t)r * N + i];
            sorted[i] = sizes[i] = fabsf(t->m->feedback ? t->e[r][i] + (float)gamma * own : own);
        }
        qsort(sorted, N, sizeof *sorted, descending);
        for (unsigned p = 0; p < t->count; p++) {
            double here = 0;
            for (size_t i = 0; i < t->parts[p].length; i++)
                here += sizes[t->parts[p].begin + i] >= sorted[t->m->top - 1];
            t->entries[r][p] = fmax(1, here);
        }
    }
    for (unsigned p = 0; p < t->count; p++) {
        double all = 0;
        for (unsigned r = 0; r < RANKS; r++) all += t->entries[r][p];
        t->entries[RANKS][p] = fmin(fmax(1, round(all / RANKS)), (double)t->parts[p].length);
    }
}

/* x into e as feedback does, C(e) into v, and e - C(e) kept. */
static double send_part(mirror *t, unsigned step, unsigned rank, unsigned p, const float *x, float *kept,
                        double gamma, float *v)
{
    static float to_send[N];
    const owned_part *part = &t->parts[p];
    const bool back = rank == RANKS, ec = t->m->feedback != NULL;
    const float scale = ec && !back ? (float)gamma : 1;
    const double k =
        t->m->top ? t->entries[rank][p] : level_of(back ? t->m->back_k : t->m->up_k, part->length);
    const double lambda = ec ? (double)scale * (back ? gamma : 1) * t->m->lambda : 0;
    for (size_t i = 0; i < part->length; i++)
        to_send[i] = ec ? kept[part->begin + i] + scale * x[part->begin + i] : x[part->begin + i];
    const double bytes =
        message_of(back ? t->down : t->g->codec, step, rank, p, k > 0 ? k : lambda, to_send, part->length, v);
    for (size_t i = 0; ec && i < part->length; i++) kept[part->begin + i] = to_send[i] - v[i];
    return bytes;
}

static void mirror_step(mirror *t, unsigned step, const float *x, double gamma)
{
    static float v[N], sum[N];
    const float weight = (float)((t->m->feedback ? 1 : gamma) / RANKS);
    const double others = RANKS - 1;
    memset(sum, 0, sizeof sum);
    if (t->m->top) spread(t, x, gamma);
    for (unsigned p = 0; p < t->count; p++) {
        const owned_part *part = &t->parts[p];
        for (unsigned r = 0; r < RANKS; r++) {
            const double bytes = send_part(t, step, r, p, x + (size_t)r * N, t->e[r], gamma, v);
            for (size_t i = 0; i < part->length; i++) sum[part->begin + i] += v[i];
            if (r != part->owner) t->up += bytes;
        }
        const double bytes = send_part(t, step, RANKS, p, sum, t->owners, gamma, v);
        t->back += others * bytes;
        for (size_t i = 0; i < part->length; i++) t->update[part->begin + i] = weight * v[i];
    }
    const bool ring = t->m->collective != NULL; /* around which the lengths of all ranks go */
    t->sent = t->up + t->back +
              (step + 1) * TITHE_LENGTH_BYTES * others *
                  ((t->m->heads ? t->count : 0) + (t->m->back_heads ? ring ? RANKS : t->count : 0));
}

static void check_method(const method *m)
{
    mirror *t = calloc(1, sizeof *t);
    t->m = m;
    t->g = group_make(&(wanted){.codec = m->codec,
                                .feedback = m->feedback,
                                .downlink = m->downlink,
                                .scheme = "shards",
                                .collective = m->collective,
                                .ranks = RANKS,
                                .n = N});
    t->down = codec_with(m->downlink ? m->downlink : m->codec,
                         (tithe_codec_options){.contractive = m->feedback && !m->downlink});
    t->count = parts_of(t->g->ex, RANKS, t->parts);
    assert_int_equal(t->count, RANKS);
    for (unsigned k = 0; k < STEPS; k++) {
        const double gamma = k < 2 ? 0.25 : 0.0625;
        float *x = gradients_make(RANKS, N, k);
        mirror_step(t, k, x, gamma);
        group_put_all(t->g, x, gamma);
        group_finish(t->g);
        for (size_t i = 0; i < N; i++)
            expect(t->g->update[i] == t->update[i], "%s, step %u: %.9g at %zu, not %.9g", m->codec, k,
                   (double)t->g->update[i], i, (double)t->update[i]);
        for (unsigned r = 0; m->feedback && r < RANKS; r++)
            expect(same_floats(tithe_exchange_residual(t->g->ex, r), t->e[r], N),
                   "%s: rank %u keeps other numbers", m->codec, r);
        if (m->feedback) assert_true(same_floats(tithe_exchange_server_residual(t->g->ex), t->owners, N));
        const tithe_exchange_totals total = totals_of(t->g->ex);
        expect(total.uplink_bytes == t->up && total.downlink_bytes == t->back && total.sent_bytes == t->sent,
               "%s: up %g (%g), back %g (%g), sent %g (%g)", m->codec, total.uplink_bytes, t->up,
               total.downlink_bytes, t->back, total.sent_bytes, t->sent);
        free(x);
    }
    tithe_codec_free(t->down);
    group_free(t->g);
    free(t);
}

static void owners_compress_the_sums(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) check_method(&methods[m]);
}

/* The largest go of the whole vector: with a way back that loses nothing, owners do what gathering does, to the bit. */
static void owners_of_the_largest_gather_them(void **state)
{
    (void)state;
    enum { FOUR = 4 }; /* by which a sum is divided without rounding, before or after */
    static const char *const feedbacks[] = {"none", "ec", "ef21"};
    static const char *const codecs[] = {"topk:k=200", "topk:keep=0.07|f16"};
    for (unsigned f = 0; f < 6; f++) {
        group *g[2];
        for (unsigned s = 0; s < 2; s++)
            g[s] = group_make(&(wanted){.codec = codecs[f / 3],
                                        .feedback = feedbacks[f % 3],
                                        .downlink = s ? "all|raw" : NULL,
                                        .scheme = s ? "shards" : "gather",
                                        .measure = true,
                                        .ranks = FOUR,
                                        .n = N});
        for (unsigned k = 0; k < 4; k++) {
            float *x = gradients_make(FOUR, N, k);
            for (unsigned s = 0; s < 2; s++) {
                group_put_all(g[s], x, 0.25);
                group_finish(g[s]);
            }
            expect(same_floats(g[0]->update, g[1]->update, N), "%s, %s, step %u: another update",
                   codecs[f / 3], feedbacks[f % 3], k);
            const tithe_exchange_record a = last_of(g[0]->ex), b = last_of(g[1]->ex);
            expect(fabs(a.unsent_max - b.unsent_max) <= 1e-6 * a.unsent_max, "%s: %g unsent, not %g",
                   feedbacks[f % 3], b.unsent_max, a.unsent_max);
            free(x);
        }
        group_free(g[0]);
        group_free(g[1]);
    }
}

/* A rank sends 2(N-1)/N of one frame, but for headers; less where others skip. */
static void ranks_send_two_frames_at_most(void **state)
{
    (void)state;
    enum { LONG = 70000 };
    for (unsigned ranks = 2; ranks <= 9; ranks++) {
        group *g = group_make(&(wanted){.codec = "natural", .scheme = "shards", .ranks = ranks, .n = LONG});
        float *x = gradients_make(ranks, LONG, 0), *v = malloc(LONG * sizeof *v);
        const double frame = message_of(g->codec, 0, 0, 0, 0, x, LONG, v);
        group_put_all(g, x, 1);
        group_finish(g);
        const double all = totals_of(g->ex).sent_bytes, wanted_bytes = 2 * (ranks - 1.0) * frame;
        expect(all >= wanted_bytes && all <= 1.01 * wanted_bytes, "%u ranks: %g bytes, not about %g", ranks,
               all, wanted_bytes);
        for (unsigned r = 1; r < ranks; r++) tithe_exchange_skip(g->ex, r, 1, NULL);
        assert_int_equal(tithe_exchange_put(g->ex, 0, 0, x, 1, NULL), TITHE_OK);
        group_finish(g);
        const double less = totals_of(g->ex).sent_bytes - all;
        const double fewer = (ranks - 1.0) / ranks * frame + (ranks - 1.0) * frame;
        expect(fabs(less - fewer) <= 0.01 * fewer, "%u ranks, of which one is put: %g bytes, not about %g",
               ranks, less, fewer);
        free(x);
        free(v);
        group_free(g);
    }
}

/* ---- nothing is lost -------------------------------------------------------------------------------------- */

static bool takes_part(bool skips, unsigned rank, unsigned step, unsigned ranks)
{
    return !skips || ranks == 1 || (rank + step) % 2 == 0;
}

/* As many times what is applied as ranks took part, and what they and the owners still keep, is what was given. */
static void check_balance(const char *options, unsigned ranks, size_t n, bool skips)
{
    tithe_comm comm = ranks_here(ranks);
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    double *applied = calloc(n + 1, sizeof *applied), *given = calloc(n + 1, sizeof *given);
    float *update = calloc(n + 1, sizeof *update);
    expect(tithe_exchange_open(&comm, options, n, &ex, &error) == TITHE_OK, "%s: %s", options, error.text);
    for (unsigned k = 0; k < 10; k++) {
        const double gamma = k < 6 ? 0.3 : 0.05;
        float *x = gradients_make(ranks, n, k);
        unsigned put = 0;
        for (unsigned r = 0; r < ranks; r++) {
            const bool here = takes_part(skips, r, k, ranks);
            const tithe_status status = here ? tithe_exchange_put(ex, r, 0, x + r * n, gamma, &error)
                                             : tithe_exchange_skip(ex, r, gamma, &error);
            expect(status == TITHE_OK, "%s: %s", options, error.text);
            put += here;
            for (size_t i = 0; here && i < n; i++) given[i] += gamma * (double)x[r * n + i];
        }
        expect(tithe_exchange_finish(ex, update, &error) == TITHE_OK, "%s: %s", options, error.text);
        const float *owners = tithe_exchange_server_residual(ex);
        for (size_t i = 0; i < n; i++) {
            applied[i] += put * (double)update[i];
            double kept = owners ? (double)owners[i] : 0;
            for (unsigned r = 0; r < ranks; r++) kept += (double)tithe_exchange_residual(ex, r)[i];
            /* each step rounds what each rank and the owner keep, and their sums; none is larger than 40 a rank */
            const double slack = (k + 1) * (ranks + 4.0) * (double)FLT_EPSILON * 40 * ranks;
            expect(fabs(applied[i] + kept - given[i]) <= slack,
                   "%s, %u ranks, step %u: %g + %g is not %g at %zu", options, ranks, k, applied[i], kept,
                   given[i], i);
        }
        free(x);
    }
    tithe_exchange_free(ex);
    free(applied);
    free(given);
    free(update);
}

static void nothing_is_lost(void **state)
{
    (void)state;
    static const char *const all[] = {"codec=topk:keep=0.05",
                                      "codec=topk:k=40|natural",
                                      "codec=threshold:lambda=3",
                                      "codec=natural;feedback=ec",
                                      "codec=all|f16;feedback=ec",
                                      "codec=all|dither:s=7;feedback=ec",
                                      "codec=all|natdither:s=4,bucket=100;feedback=ec;collective=ring",
                                      "codec=topk",
                                      "codec=topk|sign;cost=802.15.4",
                                      "codec=all|dither;tuner=cat;feedback=ec",
                                      "codec=natural;feedback=ec;downlink=topk:keep=0.1",
                                      "codec=topk:keep=0.1;downlink=raw",
                                      "codec=topk:keep=0.1;downlink=topk|sign",
                                      "codec=threshold:lambda=3;downlink=threshold:lambda=4"};
    static const unsigned sizes[] = {1, 2, 3, 4, 7, 8};
    for (size_t c = 0; c < sizeof all / sizeof *all; c++)
        for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (unsigned how = 0; how < 4; how++) { /* whole or in buckets, all ranks or half of them */
                char options[200];
                snprintf(options, sizeof options, "%s;scheme=shards%s", all[c],
                         how < 2 ? "" : ";bucket=6kB;overlap=off");
                check_balance(options, sizes[s], 4003, how % 2);
                check_balance(options, sizes[s], 5, how % 2); /* fewer numbers than ranks */
            }
}

/* ---- short vectors, and none ------------------------------------------------------------------------------ */

static void short_vectors_have_fewer_owners(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 5, 63, 64, 65, 257, 600};
    static const char *const codecs[] = {"natural", "all|dither:s=7", "all|dither:s=7,bucket=512", "topk:k=2",
                                         "threshold:lambda=1"};
    for (unsigned c = 0; c < sizeof codecs / sizeof *codecs; c++)
        for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (unsigned ranks = 1; ranks <= 9; ranks += 4) {
                const size_t n = lengths[l];
                group *g = group_make(&(wanted){
                    .codec = codecs[c], .scheme = "shards", .ranks = ranks, .n = n, .measure = true});
                owned_part parts[9];
                const unsigned count = parts_of(g->ex, ranks, parts);
                size_t at = 0;
                const size_t most = (n + 63) / 64;
                assert_true(count <= ranks && count <= most);
                if (!strstr(codecs[c], "dither")) /* no bucket keeps numbers together */
                    assert_true(count == (most < ranks ? most : ranks));
                for (unsigned p = 0; p < count; at += parts[p++].length) assert_true(parts[p].begin == at);
                assert_true(at == n);
                for (unsigned k = 0; k < 2; k++) {
                    float *x = gradients_make(ranks, n, k);
                    group_put_all(g, x, 0.5);
                    group_finish(g);
                    for (size_t i = 0; i < n; i++) assert_true(isfinite(g->update[i]));
                    free(x);
                }
                if (n == 0 || ranks == 1) assert_true(totals_of(g->ex).sent_bytes == 0);
                group_free(g);
            }
}

/* ---- what is refused -------------------------------------------------------------------------------------- */

static void what_cannot_be_cut_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *options, *word;
    } wrong[] = {{"codec=given", "given"},
                 {"codec=topk:per=layer,keep=0.1", "per=layer"},
                 {"codec=natural;downlink=topk:per=layer,keep=0.1", "per=layer"},
                 {"codec=natural;downlink=given", "given"},
                 {"codec=topk;level=shared", "`level=local`"},
                 {"codec=topk:keep=0.1;feedback=ef21;downlink=natural", "ef21"},
                 {"codec=natural;collective=tree", "ring|direct"},
                 {"codec=natural;leader=auto", "leader"}};
    tithe_comm comm = ranks_here(3);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char options[200];
        tithe_exchange *ex = NULL;
        tithe_error error = {0};
        snprintf(options, sizeof options, "%s;scheme=shards", wrong[i].options);
        expect(tithe_exchange_open(&comm, options, 5000, &ex, &error) == TITHE_E_SPEC, "%s: %s", options,
               error.text);
        const char *dot = strstr(error.text, ". ");
        expect(strstr(error.text, wrong[i].word) && !dot && error.text[strlen(error.text) - 1] == '.',
               "%s: '%s'", options, error.text);
        assert_null(ex);
    }
}

/* A NaN of one rank is named by its place in the whole vector, and skipped with what all ranks and owners keep as it was. */
static void bad_numbers_leave_no_trace(void **state)
{
    (void)state;
    static const char *const codecs[] = {"natural", "all|dither:s=7", "topk:k=40", "threshold:lambda=2",
                                         "topk:k=40|sign"};
    static const size_t places[] = {0, 700, 2222, N - 1};
    for (unsigned c = 0; c < 2 * sizeof codecs / sizeof *codecs; c++)
        for (unsigned p = 0; p < sizeof places / sizeof *places; p++) {
            const bool ec = c % 2;
            group *g = group_make(&(wanted){.codec = codecs[c / 2],
                                            .feedback = ec ? "ec" : NULL,
                                            .scheme = "shards",
                                            .ranks = RANKS,
                                            .n = N,
                                            .skip_nonfinite = true,
                                            .measure = p == 0});
            float *x = gradients_make(RANKS, N, 0), *before = malloc(RANKS * N * sizeof *before), owners[N];
            char place[60];
            group_put_all(g, x, 0.3);
            group_finish(g);
            for (unsigned r = 0; ec && r < RANKS; r++)
                memcpy(before + r * N, tithe_exchange_residual(g->ex, r), N * sizeof *before);
            if (ec) memcpy(owners, tithe_exchange_server_residual(g->ex), sizeof owners);
            x[2 * N + places[p]] = p % 2 ? NAN : INFINITY;
            tithe_error said = {0};
            snprintf(place, sizeof place, "Rank 2 has a gradient that is not finite at position %zu,",
                     places[p]);
            group_put_all(g, x, 0.3);
            assert_int_equal(tithe_exchange_finish(g->ex, g->update, &said), TITHE_E_SKIPPED);
            expect(strstr(said.text, place) && said.position == places[p], "%s: '%s'", codecs[c / 2],
                   said.text);
            for (unsigned r = 0; ec && r < RANKS; r++)
                assert_true(same_floats(before + r * N, tithe_exchange_residual(g->ex, r), N));
            if (ec) assert_true(same_floats(owners, tithe_exchange_server_residual(g->ex), N));
            free(x);
            free(before);
            group_free(g);
        }
}

/* 65504 is the largest half. Ranks that send 60000 have more together, which their owners send all the same; what they lose of it
 * they keep, in the units of others. A server does likewise. */
static void sums_may_be_larger_than_a_codec_can_write(void **state)
{
    (void)state;
    enum { COUNT = 1000, MOST = 9 };
    static const struct {
        const char *codec, *feedback, *downlink, *downlink_feedback, *scheme;
    } rows[] = {{"all|f16", "none", NULL, NULL, "shards"},
                {"all|f16", "ec", NULL, NULL, "shards"},
                {"all|f16", "none", "f16", NULL, "star"},
                {"all|f16", "ec", "f16", "ec", "star"},
                {"topk:keep=1|f16", "ec", NULL, NULL, "artopk"}};
    float x[COUNT];
    for (unsigned i = 0; i < COUNT; i++) x[i] = i % 2 ? 60000 + (float)(i % 7) : -60000;
    for (size_t m = 0; m < sizeof rows / sizeof *rows; m++)
        for (unsigned ranks = 2; ranks <= MOST; ranks += 1 + (ranks > 3)) {
            group *g = group_make(&(wanted){.codec = rows[m].codec,
                                            .feedback = rows[m].feedback,
                                            .downlink = rows[m].downlink,
                                            .downlink_feedback = rows[m].downlink_feedback,
                                            .scheme = rows[m].scheme,
                                            .ranks = ranks,
                                            .n = COUNT});
            for (unsigned r = 0; r < ranks; r++)
                assert_int_equal(tithe_exchange_put(g->ex, r, 0, x, 1, &g->error), TITHE_OK);
            group_finish(g);
            const float *owners = tithe_exchange_server_residual(g->ex);
            for (unsigned i = 0; i < COUNT; i++) {
                const double mean = (double)g->update[i];
                double all = mean * ranks + (owners ? (double)owners[i] : 0);
                expect(fabs(mean - (double)x[i]) <= 65504 * 0x1p-10, "%s, %s, %u ranks: %g, not %g",
                       rows[m].scheme, rows[m].feedback, ranks, mean, (double)x[i]);
                if (g->feedback->keeps) {
                    for (unsigned r = 0; r < ranks; r++) all += (double)tithe_exchange_residual(g->ex, r)[i];
                    expect(fabs(all - ranks * (double)x[i]) <= 0.1, "%s, %u ranks: %g in all, not %g",
                           rows[m].scheme, ranks, all, ranks * (double)x[i]);
                }
            }
            group_free(g);
        }
}

/* A threshold on the way back is one for the sum, whatever that is divided by. */
static void a_threshold_is_one_for_the_sum(void **state)
{
    (void)state;
    enum { SIZE = 3, COUNT = 1000 };
    float x[COUNT];
    for (unsigned i = 0; i < COUNT; i++) x[i] = (float)(i % 100);
    for (unsigned star = 0; star < 2; star++)
        for (unsigned kept = 0; kept < 2; kept++) {
            group *g = group_make(&(wanted){.codec = "all|raw",
                                            .feedback = "none",
                                            .downlink = "threshold:lambda=150|f16",
                                            .downlink_feedback = kept ? "ec" : NULL,
                                            .scheme = star ? "star" : "shards",
                                            .ranks = SIZE,
                                            .n = COUNT});
            for (unsigned r = 0; r < SIZE; r++)
                assert_int_equal(tithe_exchange_put(g->ex, r, 0, x, 0.5, &g->error), TITHE_OK);
            group_finish(g);
            for (unsigned i = 0; i < COUNT; i++)
                expect((g->update[i] != 0) == (SIZE * x[i] >= 150), "the sum %g is applied as %g",
                       SIZE * (double)x[i], (double)g->update[i]);
            group_free(g);
        }
}

/* Another scheme has no owners. */
static void nobody_owns_under_other_schemes(void **state)
{
    (void)state;
    group *g = group_make(&(wanted){.codec = "natural", .scheme = "gather", .ranks = 3, .n = 1000});
    size_t begin = 1;
    assert_true(tithe_exchange_owned(g->ex, 1, 0, &begin) == 0 && begin == 1000);
    group_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_compress_the_sums),
        cmocka_unit_test(owners_of_the_largest_gather_them),
        cmocka_unit_test(ranks_send_two_frames_at_most),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(short_vectors_have_fewer_owners),
        cmocka_unit_test(what_cannot_be_cut_is_refused),
        cmocka_unit_test(bad_numbers_leave_no_trace),
        cmocka_unit_test(sums_may_be_larger_than_a_codec_can_write),
        cmocka_unit_test(a_threshold_is_one_for_the_sum),
        cmocka_unit_test(nobody_owns_under_other_schemes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
