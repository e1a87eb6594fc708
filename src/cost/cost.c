/* cost.c - the table of cost models, and a cost from its spec. */
#include "cost/cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/family.h"

static const tithe_cost_model *const models[] = {
    &ti_cost_bits,   &ti_cost_affine, &ti_cost_packet,    &ti_cost_frames,
    &ti_cost_energy, &ti_cost_table,  &ti_cost_alphabeta, NULL};

static const tithe_cost_preset presets[] = {
    {"802.15.4", "packet:c0=64,c1=576,payload=512",
     "the 512-byte radio packets of CAT's experiments: 64 bytes of header each, and 64 of acknowledgement",
     "khirirat2021cat"},
    /* IEEE 802.15.4: a frame of at most 127 bytes holds frame control 2, sequence number 1, network 2, short addresses
     * 2 + 2 and checksum 2, which leaves 116; preamble 4, delimiter 1 and length 1 go ahead of it. */
    {"802.15.4-127", "frames:header=17,payload=116",
     "true IEEE 802.15.4 frames of 127 bytes: 116 of payload, 11 of header and checksum, 6 ahead of it",
     NULL},
    /* Preamble 8, Ethernet header 14, checksum 4, IPv4 20, UDP 8; 1500 - 20 - 8 are left. */
    {"ethernet-udp", "frames:header=54,payload=1472",
     "UDP over Ethernet: 54 bytes of headers for 1472 of payload", "khirirat2021cat"},
    {NULL, NULL, NULL, NULL},
};

const tithe_cost_model *const *tithe_cost_models(void)
{
    return models;
}

const tithe_cost_preset *tithe_cost_presets(void)
{
    return presets;
}

/* The models, and after them the presets. */
enum { MODELS = sizeof models / sizeof(const tithe_cost_model *) - 1 };
static family_row row(size_t i)
{
    if (i < MODELS) return (family_row){models[i]->name, models[i]->params};
    return (family_row){presets[i - MODELS].name, NULL};
}
static const family costs = {.what = "cost", .row = row};

/* Ask for the cost of many lengths: what is negative, not finite or falling is no cost. */
static tithe_status expect_cost(const tithe_cost *cost, tithe_error *error)
{
    double before = -1, shorter = 0;
    for (uint64_t length = 1; length < UINT64_C(1) << 44; length += length / 4 + 1) {
        const double bits = (double)length;
        const double now = cost->model->of(cost, bits);
        if (!isfinite(now) || now < 0)
            return ti_fail(error, TITHE_E_SPEC, 0,
                           "The cost '%s' of %.0f bits is %g: it must be finite and not negative.",
                           cost->model->name, bits, now);
        if (now < before)
            return ti_fail(
                error, TITHE_E_SPEC, 0,
                "The cost '%s' falls from %g at %.0f bits to %g at %.0f: more bits cannot cost less.",
                cost->model->name, before, shorter, now, bits);
        before = now;
        shorter = bits;
    }
    if (before > 0) return TITHE_OK;
    return ti_fail(error, TITHE_E_SPEC, 0,
                   "The cost '%s' is 0 for every message, so nothing can be chosen by it.",
                   cost->model->name);
}

static tithe_status finish(tithe_cost *made, size_t position, tithe_cost **cost, tithe_error *error)
{
    const tithe_param *table = made->model->params;
    ti_spec_defaults(table, made->params);
    for (size_t p = 0; table && table[p].name; p++)
        if (isnan(made->params[p]))
            return ti_fail(error, TITHE_E_SPEC, position, "The cost '%s' needs %s= (%s).", made->model->name,
                           table[p].name, table[p].doc);
    const char *why = made->model->refuse ? made->model->refuse(made->params) : NULL;
    if (why) return ti_fail(error, TITHE_E_SPEC, 0, "%s", why);
    const tithe_status status = expect_cost(made, error);
    if (status) return status;
    if (!made->model->takes_file)
        ti_spec_write(made->spec, sizeof made->spec, made->model->name, table, made->params);

    *cost = malloc(sizeof **cost);
    if (!*cost) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a cost.");
    **cost = *made;
    return TITHE_OK;
}

static tithe_status create_from_file(tithe_cost *made, spec_piece path, tithe_cost **cost, tithe_error *error)
{
    const size_t length = path.end - path.start;
    if (length == 0)
        return ti_fail(error, TITHE_E_SPEC, path.end, "The cost '%s' needs a file: write %s:FILE.",
                       made->model->name, made->model->name);
    if (length > sizeof made->spec - 20)
        return ti_fail(error, TITHE_E_SPEC, path.start, "The name of the file is too long.");
    const int start = snprintf(made->spec, sizeof made->spec, "%s:", made->model->name);
    memcpy(made->spec + start, path.text + path.start, length);
    made->spec[(size_t)start + length] = 0;
    tithe_status status = ti_cost_read_points(made->spec + start, &made->points, &made->link.count, error);
    made->link.points = made->points;
    if (!status) status = finish(made, path.start, cost, error);
    if (status) free(made->points);
    return status;
}

tithe_status tithe_cost_create(const char *spec, tithe_cost **cost, tithe_error *error)
{
    if (!spec || !cost)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A spec and a place for the cost are needed.");
    spec_piece name, arguments;
    ti_spec_split((spec_piece){spec, 0, strlen(spec)}, &name, &arguments);
    size_t place;
    if (!ti_family_place(&costs, name, &place)) return ti_family_refuse(&costs, name, error);
    if (place >= MODELS) { /* presets have no parameters */
        const tithe_status status = ti_family_find(&costs, spec, &place, NULL, error);
        return status ? status : tithe_cost_create(presets[place - MODELS].spec, cost, error);
    }

    tithe_cost made = {.model = models[place]};
    if (made.model->takes_file) return create_from_file(&made, arguments, cost, error);
    const tithe_status status =
        ti_spec_read(made.model->name, arguments, made.model->params, made.params, error);
    return status ? status : finish(&made, arguments.end, cost, error);
}

tithe_status tithe_cost_make(const tithe_cost_model *model, const double *params, tithe_cost **cost,
                             tithe_error *error)
{
    if (!model || !model->of || !model->name || !cost)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A model with a name and a function, and a place for the cost are needed.");
    if (model->takes_file)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "The cost '%s' reads a file: make it from its spec.",
                       model->name);
    const size_t count = ti_spec_count(model->params);
    if (count > TITHE_MAX_PARAMS)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "%s has more than %d parameters.", model->name,
                       TITHE_MAX_PARAMS);
    tithe_cost made = {.model = model};
    for (size_t i = 0; i < count; i++) {
        made.params[i] = params ? params[i] : NAN;
        if (isnan(made.params[i])) continue;
        const tithe_status status = ti_spec_check(model->name, &model->params[i], made.params[i], i, error);
        if (status) return status;
    }
    return finish(&made, 0, cost, error);
}

void tithe_cost_free(tithe_cost *cost)
{
    if (cost) free(cost->points);
    free(cost);
}

double tithe_cost_of(const tithe_cost *cost, double bits)
{
    return cost ? cost->model->of(cost, bits) : bits;
}

const char *tithe_cost_spec(const tithe_cost *cost)
{
    return cost ? cost->spec : ti_cost_bits.name;
}

const char *tithe_cost_unit(const tithe_cost *cost)
{
    return tithe_cost_model_of(cost)->unit ? tithe_cost_model_of(cost)->unit : "";
}

const double *tithe_cost_params(const tithe_cost *cost)
{
    return cost ? cost->params : NULL;
}

const tithe_cost_model *tithe_cost_model_of(const tithe_cost *cost)
{
    return cost ? cost->model : &ti_cost_bits;
}
