/* select_common.c - k, keep, and the exact search for the largest magnitudes. */
#include "codec/select.h"

bool ti_select_has_k_or_keep(const double *params)
{
    return !isnan(params[SELECT_K]) || !isnan(params[SELECT_KEEP]);
}

const char *ti_select_refuse_k_and_keep(const double *params)
{
    return !isnan(params[SELECT_K]) && !isnan(params[SELECT_KEEP]) ? "k and keep say the same thing: state one"
                                                                   : NULL;
}

size_t ti_select_count(const double *params, size_t n, double level)
{
    double k = level;
    if (!(k > 0)) k = isnan(params[SELECT_K]) ? round(params[SELECT_KEEP] * (double)n) : params[SELECT_K];
    if (!(k >= 1)) k = 1;
    return k >= (double)n ? n : (size_t)k;
}

/* The k-th largest key, found digit by digit from the top: each pass counts the keys that agree with the digits
 * found so far. *ties says how many keys equal to it belong to the k. */
static uint64_t kth_largest(const tithe_select_call *c, size_t first, size_t n, size_t k, size_t *ties)
{
    enum { DIGIT = 11 };
    unsigned shift = c->type == TITHE_F32 ? 31 : 63;
    uint64_t prefix = 0;
    size_t wanted = k;
    while (shift) {
        const unsigned width = shift < DIGIT ? shift : DIGIT;
        const uint64_t mask = (UINT64_C(1) << width) - 1;
        size_t histogram[1 << DIGIT] = {0};
        shift -= width;
        for (size_t i = first; i < first + n; i++) {
            const uint64_t key = select_key(c, i) >> shift;
            if (key >> width == prefix) histogram[key & mask]++;
        }
        uint64_t digit = mask;
        for (; histogram[digit] < wanted; digit--) wanted -= histogram[digit];
        prefix = prefix << width | digit;
    }
    *ties = wanted;
    return prefix;
}

void ti_select_top(const tithe_select_call *c, size_t first, size_t n, size_t k, tithe_selection *s)
{
    if (k == 0) return;
    size_t ties;
    const uint64_t least = kth_largest(c, first, n, k, &ties);
    for (size_t i = first; i < first + n; i++) {
        const uint64_t key = select_key(c, i);
        if (key > least || (key == least && ties > 0)) {
            ties -= key == least;
            s->indices[s->count++] = (uint32_t)i;
        }
    }
}
