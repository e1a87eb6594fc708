/* model_mlp.c - a network with one hidden layer: W2 f(W1 a + b1) + b2, then softmax and cross-entropy.
 *
 * x holds W1 (hidden x features), b1 (hidden), W2 (classes x hidden) and b2 (classes), one after the other: four
 * layers.
 * Rows come in blocks, and everything about a block is kept unit by unit, so that the inner loops run along the rows:
 * z[h * MAX_ROWS + i] belongs to unit h and row i. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "kernels/smooth.h"
#include "model/linear.h"
#include "model/models.h"
#include "model/rows.h"
#include "model/vectors.h"

enum { HIDDEN, ACTIVATION }; /* the parameters */
enum { RELU, TANH };

static const tithe_param params[] = {
    {.name = "hidden",
     .doc = "units of the hidden layer",
     .fallback = 64,
     .min = 1,
     .max = 65536,
     .whole = true},
    {.name = "activation",
     .doc = "of the hidden units",
     .fallback = RELU,
     .max = TANH,
     .choices = "relu|tanh"},
    {0},
};

typedef struct shape {
    size_t features, hidden, classes;
} shape;

static shape shape_of(const double *p, const tithe_data *data)
{
    return (shape){data->features, (size_t)p[HIDDEN], data->classes};
}

static size_t layers(const double *p, const tithe_data *data, size_t *lengths, size_t room)
{
    const shape s = shape_of(p, data);
    const size_t all[4] = {s.hidden * s.features, s.hidden, s.classes * s.hidden, s.classes};
    for (size_t i = 0; i < 4 && i < room; i++) lengths[i] = all[i];
    return 4;
}

static size_t size(const double *p, const tithe_data *data)
{
    size_t lengths[4];
    layers(p, data, lengths, 4);
    return lengths[0] + lengths[1] + lengths[2] + lengths[3];
}

/* ---- where everything is -------------------------------------------------------------------------------- */

typedef struct network {
    shape s;
    const double *w1, *b1, *w2, *b2;
    double *gw1, *gb1, *gw2, *gb2; /* NULL: no gradient is wanted */
    bool tanh_units;
    double *hidden;  /* values of the hidden units */
    double *back;    /* derivatives of the loss by their sums */
    double *outputs; /* first the sums, then the derivatives by them */
} network;

static size_t scratch(const tithe_problem *p)
{
    const shape s = shape_of(p->params, p->data);
    return (2 * s.hidden + s.classes) * MAX_ROWS * sizeof(double);
}

static network network_of(const tithe_problem *p, const double *x, double *g, void *memory)
{
    const shape s = shape_of(p->params, p->data);
    const size_t b1 = s.hidden * s.features, w2 = b1 + s.hidden, b2 = w2 + s.classes * s.hidden;
    network n = {.s = s,
                 .w1 = x,
                 .b1 = x + b1,
                 .w2 = x + w2,
                 .b2 = x + b2,
                 .tanh_units = p->params[ACTIVATION] == TANH,
                 .hidden = memory};
    n.back = n.hidden + s.hidden * MAX_ROWS;
    n.outputs = n.back + s.hidden * MAX_ROWS;
    if (g) {
        n.gw1 = g;
        n.gb1 = g + b1;
        n.gw2 = g + w2;
        n.gb2 = g + b2;
    }
    return n;
}

/* ---- forward -------------------------------------------------------------------------------------------- */

static double tanh_of(double z)
{
    const double t = smooth_exp_minus(2 * fabs(z)), y = (1 - t) / (1 + t);
    return z < 0 ? -y : y;
}

static void forward(const network *n, const tithe_data *data, const tithe_batch *batch, size_t first,
                    size_t count)
{
    for (size_t h = 0; h < n->s.hidden; h++) {
        double *z = n->hidden + h * MAX_ROWS;
        ti_rows_dot(data, batch, first, count, n->w1 + h * n->s.features, z);
        for (size_t i = 0; i < count; i++) {
            z[i] += n->b1[h];
            z[i] = n->tanh_units ? tanh_of(z[i]) : z[i] < 0 ? 0 : z[i]; /* NaN stays */
        }
    }
    for (size_t c = 0; c < n->s.classes; c++) {
        double *out = n->outputs + c * MAX_ROWS;
        for (size_t i = 0; i < count; i++) out[i] = n->b2[c];
        for (size_t h = 0; h < n->s.hidden; h++)
            ti_add(count, n->w2[c * n->s.hidden + h], n->hidden + h * MAX_ROWS, out);
    }
}

/* Cross-entropy of row i; the outputs become weight * (softmax - one at the label). Exponents are taken below the
 * largest, so none overflows. */
static double softmax(const network *n, size_t i, size_t label, double weight, bool *right)
{
    double *out = n->outputs + i, max = out[0], sum = 0;
    size_t best = 0;
    for (size_t c = 1; c < n->s.classes; c++)
        if (out[c * MAX_ROWS] > max) {
            max = out[c * MAX_ROWS];
            best = c;
        }
    *right = best == label;
    const double above = max - out[label * MAX_ROWS];
    for (size_t c = 0; c < n->s.classes; c++) {
        out[c * MAX_ROWS] = smooth_exp_minus(max - out[c * MAX_ROWS]);
        sum += out[c * MAX_ROWS];
    }
    for (size_t c = 0; c < n->s.classes; c++)
        out[c * MAX_ROWS] = weight * (out[c * MAX_ROWS] / sum - (c == label ? 1 : 0));
    return smooth_log(sum) + above;
}

/* ---- backward ------------------------------------------------------------------------------------------- */

static double sum_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i];
    return sum;
}

static void backward(const network *n, const tithe_data *data, const tithe_batch *batch, size_t first,
                     size_t count)
{
    memset(n->back, 0, n->s.hidden * MAX_ROWS * sizeof *n->back);
    for (size_t c = 0; c < n->s.classes; c++) {
        const double *out = n->outputs + c * MAX_ROWS;
        n->gb2[c] += sum_of(out, count);
        for (size_t h = 0; h < n->s.hidden; h++) {
            n->gw2[c * n->s.hidden + h] += ti_dot(count, out, n->hidden + h * MAX_ROWS);
            ti_add(count, n->w2[c * n->s.hidden + h], out, n->back + h * MAX_ROWS);
        }
    }
    for (size_t h = 0; h < n->s.hidden; h++) {
        const double *value = n->hidden + h * MAX_ROWS;
        double *back = n->back + h * MAX_ROWS;
        for (size_t i = 0; i < count; i++)
            back[i] *= n->tanh_units ? 1 - value[i] * value[i] : value[i] > 0 ? 1 : 0;
        n->gb1[h] += sum_of(back, count);
        ti_rows_add(data, batch, first, count, back, n->gw1 + h * n->s.features);
    }
}

static double add(const tithe_problem *p, const tithe_batch *batch, const double *x, double *g, void *memory,
                  size_t *correct)
{
    const network n = network_of(p, x, g, memory);
    double sum = 0;
    size_t right = 0;
    for (size_t first = 0, count; first < batch->count; first += count) {
        count = ti_rows_block(p->data, batch, first);
        forward(&n, p->data, batch, first, count);
        for (size_t i = 0; i < count; i++) {
            const double weight = batch_weight(batch, first + i);
            bool hit;
            sum +=
                weight * softmax(&n, i, (size_t)p->data->labels[batch_row(batch, first + i)], weight, &hit);
            right += hit;
        }
        if (g) backward(&n, p->data, batch, first, count);
    }
    if (correct) *correct = right;
    return sum;
}

/* ---- start ---------------------------------------------------------------------------------------------- */

/* Uniform in +-limit; each number has a place of its own in the stream, so the order of making them is free. */
static void fill(double *w, size_t n, double limit, tithe_key key)
{
    for (size_t i = 0; i < n; i++) w[i] = limit * ((double)(rng_at(key, i) >> 11) * 0x1p-52 - 1);
}

/* Units in the middle of their range: sqrt(6/(in + out)), and for relu, which passes half, sqrt(6/in). */
static void start(const tithe_problem *p, uint64_t seed, double *x)
{
    const network n = network_of(p, x, x, x);
    const double in = (double)n.s.features, middle = (double)n.s.hidden, out = (double)n.s.classes;
    memset(x, 0, p->size * sizeof *x);
    fill(n.gw1, n.s.hidden * n.s.features, sqrt(6 / (n.tanh_units ? in + middle : in)),
         (tithe_key){rng_mix(seed + RNG_GOLDEN), 1});
    fill(n.gw2, n.s.classes * n.s.hidden, sqrt(6 / (middle + out)),
         (tithe_key){rng_mix(seed + RNG_GOLDEN), 2});
}

const tithe_model ti_model_mlp = {
    .name = "mlp",
    .summary = "one hidden layer, softmax and cross-entropy, with (l2/2) |x|^2",
    .params = params,
    .task = TITHE_TASK_CLASSES,
    .convex = false,
    .curvature = 0,
    .penalty_curvature = 1,
    .size = size,
    .layers = layers,
    .start = start,
    .scratch = scratch,
    .add = add,
    .penalty = ti_ridge,
};
