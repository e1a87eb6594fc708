/* select_common.c - k and keep, as four selectors read them. */
#include "codec/select.h"

bool ti_select_has_k_or_keep(const double *params)
{
    return !isnan(params[SELECT_K]) || !isnan(params[SELECT_KEEP]);
}

const char *ti_select_refuse_k_and_keep(const double *params)
{
    return !isnan(params[SELECT_K]) && !isnan(params[SELECT_KEEP])
               ? "k and keep say the same thing: state one"
               : NULL;
}

size_t ti_select_count(const double *params, size_t n)
{
    double k = isnan(params[SELECT_K]) ? round(params[SELECT_KEEP] * (double)n) : params[SELECT_K];
    if (!(k >= 1)) k = 1;
    return k >= (double)n ? n : (size_t)k;
}

void ti_select_set_k(double *params, double level)
{
    params[SELECT_K] = level;
    params[SELECT_KEEP] = NAN;
}
