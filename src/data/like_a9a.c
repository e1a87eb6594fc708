/* like_a9a.c - a9a-like: fourteen questions with one answer each, written as ones.
 *
 * How often each answer is given is counted on the real set, in 1/100000; what is missing to 100000 is no answer.
 * Answers hang together: with some probability a question takes the number that the whole row shares. */
#include <stdlib.h>

#include "base/status.h"
#include "data/like.h"

enum { ROWS = 32561, FEATURES = 123, QUESTIONS = 14 };
static const double shared_answers = 0.3, positive_share = 0.24081, noise = 0.72;

static const uint8_t answers[QUESTIONS] = {5, 8, 5, 16, 5, 7, 14, 6, 5, 2, 2, 2, 5, 41};

static const uint32_t frequency[FEATURES] = {
    19689, 18049, 20976, 19597, 21689, 69703, 7804,  3427,  2948,  6428,  3986,  43,    21,    19996,
    20004, 19999, 19999, 20002, 16446, 22392, 3609,  32249, 1769,  3277,  4244,  1579,  1984,  1330,
    5292,  516,   2865,  1268,  1023,  157,   13062, 32250, 22392, 7521,  24775, 45993, 13645, 32809,
    3148,  3050,  1284,  71,    2850,  12589, 10119, 11210, 12487, 12715, 4207,  6148,  11578, 3053,
    4905,  458,   1993,  28,    4816,  15565, 40517, 25506, 3013,  10583, 85428, 3191,  955,   832,
    9594,  33079, 66921, 91671, 8329,  95335, 4665,  17146, 6695,  46734, 7902,  21523, 89586, 58,
    276,   350,   372,   421,   43,    307,   190,   89,    246,   230,   292,   132,   40,    608,
    224,   184,   249,   206,   1975,  114,   74,    89,    215,   55,    86,    157,   135,   181,
    40,    197,   104,   37,    55,    49,    326,   58,    95,    61,    3,
};

/* The answer to a question for a number in [0, 100000), or `count`: none. */
static unsigned answer_of(const uint32_t *table, unsigned count, uint32_t number)
{
    unsigned answer = 0;
    while (answer < count && number >= table[answer]) number -= table[answer++];
    return answer;
}

static double fill_row(double seed, size_t row, const double *model, data_rows *d)
{
    draw random = draw_start(seed, DRAW_ROWS, row);
    const uint32_t common = draw_below(&random, 100000);
    double margin = 0;
    for (unsigned q = 0, first = 0; q < QUESTIONS; first += answers[q++]) {
        const bool shares = draw_unit(&random) < shared_answers;
        const uint32_t number = shares ? common : draw_below(&random, 100000);
        const unsigned answer = answer_of(frequency + first, answers[q], number);
        if (answer == answers[q]) continue;
        d->indices[d->count] = first + answer;
        d->values[d->count++] = 1;
        margin += model[first + answer];
    }
    d->offsets[row + 1] = d->count;
    return margin;
}

/* Half chance, half a trend along the answers to a question, which what rows share makes easy to learn. */
static void plant_model(double seed, double model[FEATURES])
{
    draw random = draw_start(seed, DRAW_MODEL, 0);
    for (unsigned q = 0, first = 0; q < QUESTIONS; first += answers[q++]) {
        double below = 0;
        for (unsigned a = 0; a < answers[q]; a++) {
            const double here = frequency[first + a];
            model[first + a] = 0.4 * draw_bell(&random) + (below + here / 2) / 50000 - 1;
            below += here;
        }
    }
}

static tithe_status make_a9a(const data_request *r, data_rows *d, tithe_error *error)
{
    const double seed = r->params[LIKE_SEED];
    const size_t rows = ti_like_rows(ROWS, r->params[LIKE_SCALE]);
    const tithe_status status = ti_data_make_room(d, rows, rows * QUESTIONS, false, error);
    if (status) return status;
    double *margins = malloc(rows * sizeof *margins);
    if (!margins) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for %zu rows.", rows);

    double model[FEATURES];
    plant_model(seed, model);
    for (size_t i = 0; i < rows; i++) margins[i] = fill_row(seed, i, model, d);
    d->rows = rows;
    d->features = FEATURES;
    return ti_like_label(d, margins, positive_share, noise, seed, error);
}

static const tithe_param params[] = LIKE_PARAMS(1);

const data_maker ti_data_a9a_like = {
    {"a9a-like", "32561 x 123 of ones, at most 14 to a row, 24 % positive: the statistics of a9a",
     "danilova2022", params},
    make_a9a};
