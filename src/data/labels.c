/* labels.c - labels as a file states them become what the task wants. */
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "data/data.h"
#include "data/number.h"

/* ---- "label<=10" ----------------------------------------------------------------------------------------------- */

typedef enum comparison { AT_MOST, BELOW, AT_LEAST, ABOVE, EQUAL, DIFFERENT } comparison;

static const struct {
    const char *text; /* longer ones first: < is the beginning of <= */
    comparison is;
} comparisons[] = {{"<=", AT_MOST}, {">=", AT_LEAST}, {"==", EQUAL}, {"!=", DIFFERENT},
                   {"<", BELOW},    {">", ABOVE},     {"=", EQUAL}};

static bool holds(comparison is, double label, double number)
{
    switch (is) {
    case AT_MOST: return label <= number;
    case BELOW: return label < number;
    case AT_LEAST: return label >= number;
    case ABOVE: return label > number;
    case EQUAL: return label == number;
    case DIFFERENT: return label != number;
    }
    return false;
}

static const char *skip_space(const char *p)
{
    while (isspace((unsigned char)*p)) p++;
    return p;
}

static bool read_positive(const char *text, comparison *is, double *number)
{
    const char *p = skip_space(text);
    if (strncmp(p, "label", 5) != 0) return false;
    p = skip_space(p + 5);
    size_t i = 0;
    const size_t all = sizeof comparisons / sizeof *comparisons;
    while (i < all && strncmp(p, comparisons[i].text, strlen(comparisons[i].text)) != 0) i++;
    if (i == all) return false;
    *is = comparisons[i].is;
    p = skip_space(p + strlen(comparisons[i].text));

    decimal d;
    const char *end = decimal_scan(p, &d);
    if (!end || *skip_space(end)) return false;
    const locale_t none = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    *number = decimal_double(&d, p, none);
    if (none) freelocale(none);
    return isfinite(*number);
}

static tithe_status apply_positive(data_rows *d, const char *text, const char *what, tithe_error *error)
{
    comparison is;
    double number, low = INFINITY, high = -INFINITY;
    if (!read_positive(text, &is, &number))
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "\"%.40s\" does not say which labels are positive: write label<=10, with one of "
                       "<= < >= > == != and a number.",
                       text);
    size_t positive = 0;
    for (size_t i = 0; i < d->rows; i++) {
        const double label = d->labels[i];
        const bool yes = holds(is, label, number);
        low = label < low ? label : low;
        high = label > high ? label : high;
        d->labels[i] = yes ? 1 : -1;
        positive += yes;
    }
    if (positive == 0 || positive == d->rows)
        return ti_fail(error, TITHE_E_DATA, 0,
                       "\"%.40s\" holds for %s label of %s, where they run from %g to %g.", text,
                       positive ? "every" : "no", what, low, high);
    return TITHE_OK;
}

/* ---- different labels, in ascending order ------------------------------------------------------------------------ */

enum { MAX_CLASSES = 65536 };

typedef struct label_set {
    double *labels;
    size_t count;
} label_set;

/* Where `label` is or would be. */
static size_t place_of(const label_set *s, double label)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->labels[middle] < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* False: more than `most`; the set then holds `most` of them. */
static bool collect(const data_rows *d, label_set *s, size_t max)
{
    for (size_t i = 0; i < d->rows; i++) {
        const double label = d->labels[i];
        const size_t place = place_of(s, label);
        if (place < s->count && s->labels[place] == label) continue;
        if (s->count == max) return false;
        memmove(s->labels + place + 1, s->labels + place, (s->count - place) * sizeof *s->labels);
        s->labels[place] = label;
        s->count++;
    }
    return true;
}

static tithe_status make_binary(data_rows *d, const char *what, tithe_error *error)
{
    enum { SHOWN = 5 };
    double few[SHOWN];
    label_set s = {few, 0};
    const bool all = collect(d, &s, SHOWN);
    if (s.count != 2) {
        char list[120];
        size_t used = 0;
        list[0] = 0;
        for (size_t i = 0; i < s.count; i++)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%g", i ? ", " : "", s.labels[i]);
        return ti_fail(error, TITHE_E_DATA, 0, "%s has %s (%s%s), but two are needed%s.", what,
                       s.count == 1 ? "one label" : "more than two labels", list, all ? "" : ", ...",
                       s.count == 1 ? ": `model=least-squares` takes any"
                                    : ": say which are positive, such as `positive=label<=10`, or take "
                                      "`model=least-squares` for numbers");
    }
    for (size_t i = 0; i < d->rows; i++) d->labels[i] = d->labels[i] == s.labels[0] ? -1 : 1;
    return TITHE_OK;
}

static tithe_status make_classes(data_rows *d, const char *what, unsigned *classes, tithe_error *error)
{
    label_set s = {calloc(MAX_CLASSES, sizeof *s.labels), 0};
    if (!s.labels) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the labels.");
    tithe_status status = TITHE_OK;
    if (!collect(d, &s, MAX_CLASSES))
        status = ti_fail(error, TITHE_E_DATA, 0,
                         "%s has more than %d different labels: are they numbers to be predicted?", what,
                         MAX_CLASSES);
    else if (s.count < 2)
        status = ti_fail(error, TITHE_E_DATA, 0, "%s has one label (%g), but classes need two or more.", what,
                         s.labels[0]);
    for (size_t i = 0; !status && i < d->rows; i++) d->labels[i] = (double)place_of(&s, d->labels[i]);
    if (!status) *classes = (unsigned)s.count;
    free(s.labels);
    return status;
}

tithe_status ti_data_map_labels(data_rows *d, const tithe_data_options *options, const char *what,
                                unsigned *classes, tithe_error *error)
{
    *classes = 0;
    for (size_t i = 0; i < d->rows; i++) d->labels[i] += 0.0; /* -0 is 0 */
    if (options->positive) {
        const tithe_status status = apply_positive(d, options->positive, what, error);
        if (status) return status;
    }
    switch (options->task) {
    case TITHE_TASK_BINARY: return make_binary(d, what, error);
    case TITHE_TASK_NUMBER: return TITHE_OK;
    case TITHE_TASK_CLASSES: return make_classes(d, what, classes, error);
    }
    return ti_fail(error, TITHE_E_ARGUMENT, 0, "The task is none of those that tithe_task names.");
}
