/* amounts.c - see amounts.h. */
#include "amounts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct unit {
    const char *name;
    double factor;
} unit;

static bool read_amount(const char *text, const unit *units, double *value)
{
    char *end;
    const double number = strtod(text, &end);
    if (end == text || !isfinite(number)) return false;
    if (!*end) {
        *value = number;
        return true;
    }
    for (; units->name; units++)
        if (strcmp(end, units->name) == 0) {
            *value = number * units->factor;
            return true;
        }
    return false;
}

bool amount_seconds(const char *text, double *seconds)
{
    static const unit units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60}, {NULL, 0}};
    return read_amount(text, units, seconds);
}

bool amount_rate(const char *text, double *bytes_per_second)
{
    static const unit units[] = {{"B", 1},          {"kB", 1e3},       {"MB", 1e6},
                                 {"GB", 1e9},       {"bit", 0.125},    {"kbit", 1e3 / 8},
                                 {"Mbit", 1e6 / 8}, {"Gbit", 1e9 / 8}, {NULL, 0}};
    return read_amount(text, units, bytes_per_second);
}

bool amount_list(const char *text, double *values, size_t max, size_t *count)
{
    *count = 0;
    for (const char *at = text;; at++) {
        char *end;
        if (*count == max) return false;
        values[*count] = strtod(at, &end);
        if (end == at || !isfinite(values[*count]) || (*end && *end != ',')) return false;
        ++*count;
        if (!*end) return true;
        at = end;
    }
}

static amount_text scaled(double value, const unit *units)
{
    amount_text out;
    if (!isfinite(value)) {
        snprintf(out.text, sizeof out.text, "%s", value > 0 ? "any" : "-");
        return out;
    }
    while (units[1].name && value < units->factor * 0.9995) units++;
    snprintf(out.text, sizeof out.text, "%.3g %s", value / units->factor, units->name);
    return out;
}

amount_text amount_time(double seconds)
{
    static const unit units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {NULL, 0}};
    return scaled(seconds, units);
}

amount_text amount_bandwidth(double bytes_per_second)
{
    static const unit units[] = {{"Tbit/s", 1e12}, {"Gbit/s", 1e9}, {"Mbit/s", 1e6},
                                 {"kbit/s", 1e3},  {"bit/s", 1},    {NULL, 0}};
    return scaled(8 * bytes_per_second, units);
}
