/* sink.c - where decoded values go: y += scale * value, densely or at given positions. */
#include "kernels/kernels.h"

void tithe_sink_add(const tithe_sink *sink, size_t first, const void *values, size_t count)
{
    if (!sink->y) return;
    const uint32_t *at = sink->at ? sink->at + first : NULL;
    if (sink->type == TITHE_F64) {
        double *y = sink->y;
        const double *v = values;
        for (size_t i = 0; i < count; i++) y[at ? at[i] : first + i] += sink->scale * v[i];
        return;
    }
    float *y = sink->y;
    const float *v = values, scale = (float)sink->scale;
    if (!at) {
        ti_kernels()->add_scaled(y + first, v, scale, count);
        return;
    }
    for (size_t i = 0; i < count; i++) y[at[i]] += scale * v[i];
}
