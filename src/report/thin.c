/* thin.c - see thin.h. */
#include "report/thin.h"

#include <math.h>
#include <string.h>

#include "report/trace.h"

/* The first of these columns that has a number anywhere; NULL: none has. */
static const tithe_column *first_known(const tithe_trace *trace, const char *const *names)
{
    for (; *names; names++) {
        for (const tithe_column *c = tithe_columns(); c->name; c++) {
            if (strcmp(c->name, *names) != 0) continue;
            for (size_t i = 0; i < tithe_trace_count(trace); i++)
                if (!isnan(ti_number_at(tithe_trace_at(trace, i), c))) return c;
        }
    }
    return NULL;
}

/* The places of the least and the most in [from, to); false: there is no number. */
static bool extremes(const tithe_trace *trace, const tithe_column *c, size_t from, size_t to, size_t found[2])
{
    double min = NAN, max = NAN;
    found[0] = found[1] = from;
    for (size_t i = from; c && i < to; i++) {
        const double value = ti_number_at(tithe_trace_at(trace, i), c);
        if (isnan(min) ? !isnan(value) : value < min) {
            min = value;
            found[0] = i;
        }
        if (isnan(max) ? !isnan(value) : value > max) {
            max = value;
            found[1] = i;
        }
    }
    return !isnan(min);
}

/* Adds place i unless it is not behind the last one. */
static size_t add(size_t *indices, size_t count, size_t i)
{
    if (count == 0 || i > indices[count - 1]) indices[count++] = i;
    return count;
}

static void sort(size_t *places, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && places[j] < places[j - 1]; j--) {
            const size_t swap = places[j];
            places[j] = places[j - 1];
            places[j - 1] = swap;
        }
}

size_t ti_thin(const tithe_trace *trace, size_t max, size_t *indices)
{
    static const char *const values[] = {"loss", "gap", "accuracy", "average_loss", NULL};
    static const char *const levels[] = {"level", "kept", "residual", NULL};
    const size_t records = tithe_trace_count(trace);
    if (records <= max) {
        for (size_t i = 0; i < records; i++) indices[i] = i;
        return records;
    }

    const tithe_column *watched[2] = {first_known(trace, values), first_known(trace, levels)};
    const size_t half = (max - 2) / 8; /* of the buckets */
    size_t count = add(indices, 0, 0), even = 0, growing = 0;
    for (size_t from = 0, to; from < records - 1; from = to) {
        /* The next end of either kind; both rows end at `records`. */
        size_t a = 0, b = 0;
        while (a <= from) a = (size_t)((double)records * ((double)++even / (double)half));
        while (b <= from) b = (size_t)pow((double)records, (double)++growing / (double)half);
        to = a < b ? a : b;
        if (to > records) to = records;
        if (to < a) even--;
        if (to < b) growing--;

        size_t places[4], n = 0;
        for (int w = 0; w < 2; w++)
            if (extremes(trace, watched[w], from, to, places + n)) n += 2;
        if (n == 0) places[n++] = from;
        sort(places, n);
        for (size_t i = 0; i < n; i++) count = add(indices, count, places[i]);
    }
    return add(indices, count, records - 1);
}
