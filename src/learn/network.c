/* network.c - reads descriptions of networks. */
#include "learn/network.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spec.h"
#include "base/status.h"

enum { LATENCY, BANDWIDTH, COMPUTE };
static const tithe_param params[] = {
    [LATENCY] = {.name = "latency",
                 .doc = "one way",
                 .fallback = NAN,
                 .min = 0,
                 .max = 1e6,
                 .unit = TITHE_UNIT_SECONDS},
    [BANDWIDTH] = {.name = "bandwidth",
                   .doc = "payload that arrives",
                   .fallback = NAN,
                   .min = 1e-3,
                   .max = 1e18,
                   .unit = TITHE_UNIT_RATE},
    [COMPUTE] = {.name = "compute",
                 .doc = "of a gradient",
                 .fallback = 0,
                 .min = 0,
                 .max = 1e6,
                 .unit = TITHE_UNIT_SECONDS},
    {.name = NULL},
};

/* Milliseconds and Gbit/s over epochs (tyagi2023artopk): a network that changes suddenly, and one that drifts. */
static const char c1[] = "0-12 1ms 25Gbit\n12-24 1ms 1Gbit\n24-36 50ms 1Gbit\n36+ 50ms 25Gbit\n";
static const char c2[] =
    "0-4 1ms 25Gbit\n4-8 2ms 20Gbit\n8-12 4ms 15Gbit\n12-16 8ms 10Gbit\n16-20 16ms 5Gbit\n20-28 32ms 1Gbit\n"
    "28-32 16ms 5Gbit\n32-36 8ms 10Gbit\n36-40 4ms 15Gbit\n40-44 2ms 20Gbit\n44+ 1ms 25Gbit\n";

static tithe_link link_of(const double *values)
{
    return (tithe_link){.latency = values[LATENCY], .bandwidth = values[BANDWIDTH]};
}

/* ---- schedules ------------------------------------------------------------------------------------------------ */

/* "12-24 1ms 1Gbit": the amounts are read as those of a spec. */
static tithe_status read_line(const char *name, unsigned line, char *text, network *n, tithe_error *error)
{
    char first[64] = "", latency[32], bandwidth[32], spec[128], rest;
    const int got = sscanf(text, " %63s %31s %31s %c", first, latency, bandwidth, &rest);
    if (got <= 0 || first[0] == '#') return TITHE_OK; /* blank, or a comment */
    char *end;
    const double from = strtod(first, &end);
    const bool last = strcmp(end, "+") == 0;
    const double to = *end == '-' ? strtod(end + 1, &end) : INFINITY;
    if (got != 3 || (!last && *end) || !(from >= 0) || !(to > from))
        return ti_fail(error, TITHE_E_DATA, line,
                       "%s:%u: a line is 'FROM-TO LATENCY BANDWIDTH', such as '12-24 1ms 1Gbit'.", name,
                       line);
    snprintf(spec, sizeof spec, "latency=%s,bandwidth=%s", latency, bandwidth);
    double values[TITHE_MAX_PARAMS];
    tithe_error why = {0};
    if (ti_spec_read("network", (spec_piece){spec, 0, strlen(spec)}, params, values, &why))
        return ti_fail(error, TITHE_E_DATA, line, "%s:%u: %.180s", name, line, why.text);
    const double expected = n->count ? n->phases[n->count - 1].to : 0;
    if (from != expected)
        return ti_fail(error, TITHE_E_DATA, line,
                       "%s:%u: epoch %g follows where %g was expected: a schedule has no gap and "
                       "no overlap.",
                       name, line, from, expected);
    network_phase *more = realloc(n->phases, (n->count + 1) * sizeof *more);
    if (!more) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a schedule.");
    n->phases = more;
    n->phases[n->count++] = (network_phase){from, to, link_of(values)};
    return TITHE_OK;
}

static tithe_status read_schedule(const char *name, char *text, network *n, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    unsigned line = 1;
    for (char *at = text; at && !status; line++) {
        char *end = strchr(at, '\n');
        if (end) *end = 0;
        status = read_line(name, line, at, n, error);
        at = end ? end + 1 : NULL;
    }
    if (!status && n->count == 0)
        status =
            ti_fail(error, TITHE_E_DATA, 0, "%s: there is no line 'FROM-TO LATENCY BANDWIDTH' in it.", name);
    return status;
}

static tithe_status read_file(const char *path, network *n, tithe_error *error)
{
    enum { MAX = 1 << 20 };
    FILE *file = fopen(path, "r");
    if (!file)
        return ti_fail(error, TITHE_E_FILE, 0,
                       "`network` takes latency=1ms,bandwidth=100Mbit, C1, C2 or a schedule file; "
                       "'%.80s' cannot be read: %s.",
                       path, strerror(errno));
    char *text = calloc(MAX + 1, 1);
    const size_t length = text ? fread(text, 1, MAX, file) : 0;
    fclose(file);
    tithe_status status;
    if (!text)
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a schedule.");
    else if (length == MAX || strlen(text) != length)
        status = ti_fail(error, TITHE_E_DATA, 0, "%s: this is no schedule.", path);
    else
        status = read_schedule(path, text, n, error);
    free(text);
    return status;
}

/* ---- all forms -------------------------------------------------------------------------------------------------- */

/* ",compute=10ms" behind a name is cut off and read. */
static tithe_status take_compute(char *text, network *n, tithe_error *error)
{
    char *comma = strstr(text, ",compute=");
    if (!comma) return TITHE_OK;
    double values[TITHE_MAX_PARAMS];
    const size_t length = strlen(comma + 1);
    const tithe_status status =
        ti_spec_read("network", (spec_piece){comma + 1, 0, length}, params, values, error);
    if (!status) n->compute = values[COMPUTE];
    *comma = 0;
    return status;
}

static tithe_status read_steady(const char *text, network *n, tithe_error *error)
{
    double values[TITHE_MAX_PARAMS];
    const tithe_status status =
        ti_spec_read("network", (spec_piece){text, 0, strlen(text)}, params, values, error);
    if (status) return status;
    ti_spec_defaults(params, values);
    if (isnan(values[LATENCY]) || isnan(values[BANDWIDTH]))
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "`network` needs both latency= and bandwidth=, such as "
                       "latency=1ms,bandwidth=100Mbit.");
    n->phases = malloc(sizeof *n->phases);
    if (!n->phases) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a network.");
    n->phases[0] = (network_phase){0, INFINITY, link_of(values)};
    n->count = 1;
    n->compute = values[COMPUTE];
    return TITHE_OK;
}

tithe_status ti_network_read(const char *text, network *n, tithe_error *error)
{
    *n = (network){0};
    if (strncmp(text, "latency=", 8) == 0 || strncmp(text, "bandwidth=", 10) == 0 ||
        strncmp(text, "compute=", 8) == 0)
        return read_steady(text, n, error);
    char name[512], built_in[sizeof c2];
    if (strlen(text) >= sizeof name)
        return ti_fail(error, TITHE_E_SPEC, 0, "The name of a schedule is shorter.");
    memcpy(name, text, strlen(text) + 1);
    tithe_status status = take_compute(name, n, error);
    if (status) return status;
    const bool first = strcmp(name, "C1") == 0;
    if (first || strcmp(name, "C2") == 0) {
        snprintf(built_in, sizeof built_in, "%s", first ? c1 : c2);
        status = read_schedule(name, built_in, n, error);
    } else {
        status = read_file(name, n, error);
    }
    if (status) ti_network_free(n);
    return status;
}

void ti_network_free(network *n)
{
    free(n->phases);
    *n = (network){0};
}

const network_phase *ti_network_at(const network *n, double epochs)
{
    size_t i = 0;
    while (i + 1 < n->count && epochs >= n->phases[i].to) i++;
    return &n->phases[i];
}
