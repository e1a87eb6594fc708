/* like_gisette.c - gisette-like: dense rows between -1 and 1, most of them -1, and strongly correlated.
 *
 * The real set is made from pixels of two handwritten digits, scaled so that an empty pixel is -1; half of its features
 * are meaningless. Here a row has a few hidden strengths of strokes; a feature is switched on when the stroke it
 * belongs to, plus noise of its own, passes the feature's limit. */
#include <stdlib.h>

#include "base/status.h"
#include "data/like.h"

enum { ROWS = 6000, FEATURES = 5000, STROKES = 16 };
static const double noise = 0.05;

typedef struct pixel {
    double limit; /* of stroke + noise above which it is on */
    double pull;  /* of its stroke; 0: meaningless */
} pixel;

static void make_pixels(double seed, pixel *pixels)
{
    draw random = draw_start(seed, DRAW_MODEL, 0);
    for (int j = 0; j < FEATURES; j++) {
        const double u = draw_unit(&random), side = draw_unit(&random);
        pixels[j].limit = 0.47 + 1.8 * u;
        pixels[j].pull = j % 2 ? 0 : side < 0.5 ? -2.0 : 2.0;
    }
}

static double fill_row(double seed, size_t row, const pixel *pixels, float *values)
{
    draw random = draw_start(seed, DRAW_ROWS, row);
    double strokes[STROKES], margin = 0;
    for (int s = 0; s < STROKES; s++) {
        strokes[s] = draw_bell(&random);
        margin += s % 4 ? 0 : strokes[s]; /* every fourth stroke tells the two digits apart */
    }
    for (int j = 0; j < FEATURES; j++) {
        const pixel *p = &pixels[j];
        const uint64_t bits = draw_bits(&random);
        const double own = bell_of_bits(bits), reach = p->pull * strokes[j / 2 % STROKES] + own - p->limit;
        double value = -1;
        if (reach > 0) /* the brighter, the further above its limit; some stand exactly in the middle */
            value = bits % 1024 < 47 ? 0 : reach > 2 ? 1 : reach - 1;
        values[j] = (float)value;
    }
    return margin;
}

static tithe_status make_gisette(const data_request *r, data_rows *d, tithe_error *error)
{
    const double seed = r->params[LIKE_SEED];
    const size_t rows = ti_like_rows(ROWS, r->params[LIKE_SCALE]);
    const tithe_status status = ti_data_make_room(d, rows, rows * FEATURES, true, error);
    if (status) return status;
    double *margins = malloc(rows * sizeof *margins);
    pixel *pixels = malloc(FEATURES * sizeof *pixels);
    if (!margins || !pixels) {
        free(margins);
        free(pixels);
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for %zu rows.", rows);
    }
    make_pixels(seed, pixels);
    for (size_t i = 0; i < rows; i++) margins[i] = fill_row(seed, i, pixels, d->values + i * FEATURES);
    free(pixels);
    d->rows = rows;
    d->features = FEATURES;
    d->count = rows * FEATURES;
    return ti_like_label(d, margins, 0.5, noise, seed, error);
}

static const tithe_param params[] = LIKE_PARAMS(1);

const data_maker ti_data_gisette_like = {
    {"gisette-like", "6000 x 5000, dense, between -1 and 1, half positive: the statistics of gisette",
     "danilova2022", params},
    make_gisette};
