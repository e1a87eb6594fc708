/* select_randk.c - k positions at random, without replacement; both ends draw them, so none is sent.
 *
 * Floyd's method marks k of n positions in a bitmap with k draws; reading the bitmap gives them in ascending
 * order. More than half of all positions is drawn as its complement. scale=unbiased multiplies by n/k.
 * Keys: floyd1987, stich2018 (rand-k). */
#include "codec/select.h"
#include "kernels/stream.h"

static const tithe_param randk_params[] = {SELECT_K_AND_KEEP,
                                           {.name = "scale",
                                            .doc = "unbiased multiplies by n/k, contractive by 1",
                                            .fallback = 0,
                                            .max = 1,
                                            .choices = "unbiased|contractive"},
                                           {0}};

static size_t randk_scratch(const double *params, size_t n)
{
    (void)params;
    return (n / 64 + 1) * sizeof(uint64_t);
}

static void randk_draw(tithe_key key, size_t n, size_t count, uint32_t *indices, void *scratch)
{
    uint64_t *marks = scratch;
    const size_t words = n / 64 + 1;
    const bool complement = count > n / 2;
    const size_t draws = complement ? n - count : count;
    memset(marks, 0, words * sizeof *marks);

    rng_stream random;
    ti_rng_stream_start(&random, key);
    for (size_t j = n - draws; j < n; j++) {
        size_t at = ti_rng_stream_below(&random, (uint32_t)(j + 1));
        if (marks[at / 64] >> at % 64 & 1) at = j; /* taken already: j itself cannot be */
        marks[at / 64] |= UINT64_C(1) << at % 64;
    }
    size_t found = 0;
    for (size_t word = 0; word < words; word++) {
        uint64_t bits = complement ? ~marks[word] : marks[word];
        for (; bits && found < count; bits &= bits - 1)
            indices[found++] = (uint32_t)(word * 64 + (unsigned)__builtin_ctzll(bits));
    }
}

static tithe_status randk_select(const tithe_select_call *c, tithe_selection *s, tithe_error *error)
{
    (void)error;
    s->count = c->n ? ti_select_count(c->params, c->n) : 0;
    if (!c->contractive && s->count) s->factor = (double)c->n / (double)s->count;
    randk_draw(c->key, c->n, s->count, s->indices, c->scratch);
    return TITHE_OK;
}

static void randk_claims(const double *params, size_t n, bool contractive, tithe_claims *claims)
{
    const double k = ti_select_has_k_or_keep(params) ? (double)ti_select_count(params, n) : 1;
    const double kept = n ? k / (double)n : 1;
    claims->traits = TITHE_FIXED_SIZE | (contractive && kept < 1 ? 0 : TITHE_UNBIASED);
    claims->omega = contractive ? 0 : 1 / kept - 1;
    claims->delta = contractive ? kept : 1 - claims->omega;
}

const tithe_selector ti_select_randk = {
    .name = "randk",
    .summary = "k coordinates at random; no indices on the wire",
    .paper = "stich2018",
    .params = randk_params,
    .id = 4,
    .source = TITHE_INDICES_DRAWN,
    .projection = true,
    .scales = true,
    .refuse = ti_select_refuse_k_and_keep,
    .has_level = ti_select_has_k_or_keep,
    .set_level = ti_select_set_k,
    .max_count = ti_select_count,
    .scratch = randk_scratch,
    .select = randk_select,
    .draw = randk_draw,
    .claims = randk_claims,
};
