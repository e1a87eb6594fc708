/* spec.c - see spec.h. */
#include "base/spec.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static spec_piece trim(spec_piece p)
{
    while (p.start < p.end && isspace((unsigned char)p.text[p.start])) p.start++;
    while (p.end > p.start && isspace((unsigned char)p.text[p.end - 1])) p.end--;
    return p;
}

/* Cut at the first `mark`: what stands before it is returned, what stands after it stays in *rest. */
static spec_piece cut(spec_piece *rest, char mark)
{
    spec_piece head = *rest;
    const char *at = memchr(rest->text + rest->start, mark, rest->end - rest->start);
    if (at) head.end = (size_t)(at - rest->text);
    rest->start = at ? head.end + 1 : rest->end;
    return trim(head);
}

void ti_spec_split(spec_piece piece, spec_piece *name, spec_piece *arguments)
{
    *name = cut(&piece, ':');
    *arguments = piece;
}

bool ti_spec_is(spec_piece name, const char *word)
{
    const size_t length = strlen(word);
    return name.end - name.start == length && memcmp(name.text + name.start, word, length) == 0;
}

size_t ti_spec_count(const tithe_param *table)
{
    size_t count = 0;
    while (table && table[count].name) count++;
    return count;
}

int ti_spec_find(const tithe_param *table, const char *name)
{
    for (int i = 0; table && table[i].name; i++)
        if (strcmp(table[i].name, name) == 0) return i;
    return -1;
}

/* Length of the choice at `list`, which ends at '|' or at the end of the text. */
static size_t choice_length(const char *list)
{
    return strcspn(list, "|");
}

static const char *next_choice(const char *list)
{
    list += choice_length(list);
    return *list ? list + 1 : NULL;
}

static double find_choice(const char *choices, spec_piece word)
{
    double place = 0;
    for (const char *c = choices; c; c = next_choice(c), place++) {
        const size_t length = choice_length(c);
        if (word.end - word.start == length && memcmp(word.text + word.start, c, length) == 0) return place;
    }
    return NAN;
}

/* "keep, k, rule" */
static void list_names(const tithe_param *table, char *dst, size_t size)
{
    size_t used = 0;
    dst[0] = 0;
    for (int i = 0; table && table[i].name && used < size; i++)
        used += (size_t)snprintf(dst + used, size - used, "%s%s", i ? ", " : "", table[i].name);
}

tithe_status ti_spec_check(const char *owner, const tithe_param *param, double value, size_t position,
                           tithe_error *error)
{
    if (isfinite(value) && value >= param->min && value <= param->max &&
        !((param->whole || param->choices) && value != floor(value)))
        return TITHE_OK;
    return ti_fail(error, TITHE_E_SPEC, position, "%s of %s is %.10g, but must be a %s from %.10g to %.10g.",
                   param->name, owner, value, param->whole ? "whole number" : "number", param->min,
                   param->max);
}

/* Numbers have a point in every country: for a moment the thread is in none. A locale that cannot be had
 * is the one that the program started with, which is the same. */
static locale_t enter_no_country(locale_t *ours)
{
    *ours = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    return *ours ? uselocale(*ours) : (locale_t)0;
}

static void leave_no_country(locale_t ours, locale_t before)
{
    if (!ours) return;
    uselocale(before);
    freelocale(ours);
}

/* Decimal only: what strtod would also take (hexadecimal, inf, nan) is nothing that a spec means. */
static bool read_number(const char *text, double *value)
{
    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text)) return false;
    locale_t ours;
    const locale_t before = enter_no_country(&ours);
    char *end;
    *value = strtod(text, &end);
    leave_no_country(ours, before);
    return end != text && *end == 0;
}

/* ---- units --------------------------------------------------------------------------------------------- */

typedef struct unit_name {
    const char *name;
    double factor;
} unit_name;

static const unit_name seconds[] = {{"s", 1},     {"ms", 1e-3}, {"us", 1e-6},
                                    {"ns", 1e-9}, {"min", 60},  {NULL, 0}};
static const unit_name rates[] = {
    {"B", 1},       {"kB", 1e3},         {"MB", 1e6},         {"GB", 1e9},
    {"bit", 0.125}, {"kbit", 1e3 / 8.0}, {"Mbit", 1e6 / 8.0}, {"Gbit", 1e9 / 8.0},
    {NULL, 0}};
static const unit_name sizes[] = {{"B", 1},      {"kB", 1e3},      {"MB", 1e6},         {"GB", 1e9},
                                  {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {NULL, 0}};

static const unit_name *units_of(tithe_unit unit)
{
    switch (unit) {
    case TITHE_UNIT_SECONDS: return seconds;
    case TITHE_UNIT_RATE: return rates;
    case TITHE_UNIT_BYTES: return sizes;
    default: return NULL;
    }
}

static const char *unit_example(tithe_unit unit)
{
    switch (unit) {
    case TITHE_UNIT_SECONDS: return ", such as 5ms";
    case TITHE_UNIT_RATE: return ", such as 100Mbit";
    case TITHE_UNIT_BYTES: return ", such as 1472B";
    default: return "";
    }
}

/* Cut the unit off the text; returns what the number before it is to be multiplied with, 0 for a unit that does not
 * exist. A rate may say that it is one: 100Mbit/s. */
static double cut_unit(tithe_unit unit, char *text)
{
    const unit_name *names = units_of(unit);
    if (!names) return 1;
    size_t length = strlen(text), start = length;
    if (unit == TITHE_UNIT_RATE && length > 2 && strcmp(text + length - 2, "/s") == 0)
        text[start = length -= 2] = 0;
    while (start > 0 && isalpha((unsigned char)text[start - 1])) start--;
    if (start == length) return 1;
    for (; names->name; names++)
        if (strcmp(names->name, text + start) == 0) {
            text[start] = 0;
            while (start > 0 && text[start - 1] == ' ') text[--start] = 0;
            return names->factor;
        }
    return 0;
}

static tithe_status read_value(const char *owner, spec_piece word, const tithe_param *param, double *value,
                               tithe_error *error)
{
    char text[64];
    const size_t length = word.end - word.start;
    if (length >= sizeof text)
        return ti_fail(error, TITHE_E_SPEC, word.start, "The value of %s is too long to be a number.",
                       param->name);
    memcpy(text, word.text + word.start, length);
    text[length] = 0;

    if (param->choices) {
        *value = find_choice(param->choices, word);
        if (isnan(*value))
            return ti_fail(error, TITHE_E_SPEC, word.start, "%s of %s is \"%s\", but must be one of %s.",
                           param->name, owner, text, param->choices);
        return TITHE_OK;
    }
    char number[sizeof text];
    memcpy(number, text, length + 1);
    const double factor = cut_unit(param->unit, number);
    if (factor == 0 || !read_number(number, value))
        return ti_fail(error, TITHE_E_SPEC, word.start,
                       "%s of %s must be a number from %.10g to %.10g%s, not \"%s\".", param->name, owner,
                       param->min, param->max, unit_example(param->unit), text);
    *value *= factor;
    return ti_spec_check(owner, param, *value, word.start, error);
}

tithe_status ti_spec_read(const char *owner, spec_piece arguments, const tithe_param *table, double *values,
                          tithe_error *error)
{
    const size_t count = ti_spec_count(table);
    for (size_t i = 0; i < count; i++) values[i] = NAN;

    bool more = arguments.start < arguments.end;
    while (more) {
        spec_piece value = cut(&arguments, ',');
        more = arguments.start > value.end && arguments.text[arguments.start - 1] == ',';
        const spec_piece pair = value;
        const spec_piece key = cut(&value, '=');
        value = trim(value);

        size_t i = 0;
        while (i < count && !ti_spec_is(key, table[i].name)) i++;
        if (i == count) {
            char names[120];
            list_names(table, names, sizeof names);
            return ti_fail(error, TITHE_E_SPEC, key.start, "%s has no parameter \"%.*s\"; it takes %s.",
                           owner, (int)(key.end - key.start > 40 ? 40 : key.end - key.start),
                           key.text + key.start, count ? names : "none");
        }
        if (key.end == pair.end)
            return ti_fail(error, TITHE_E_SPEC, pair.end, "%s of %s needs a value: write %s=value.",
                           table[i].name, owner, table[i].name);
        if (!isnan(values[i]))
            return ti_fail(error, TITHE_E_SPEC, key.start, "%s of %s is stated twice; once is enough.",
                           table[i].name, owner);
        const tithe_status status = read_value(owner, value, &table[i], &values[i], error);
        if (status) return status;
    }
    return TITHE_OK;
}

tithe_status ti_spec_shorthand(const char *owner, const tithe_param *table, const char *key, const char *text,
                               double *values, tithe_error *error)
{
    if (!text) return TITHE_OK;
    const int i = ti_spec_find(table, key);
    double value = NAN;
    const tithe_status status =
        read_value(owner, (spec_piece){text, 0, strlen(text)}, &table[i], &value, error);
    if (status) return status;
    if (!isnan(values[i]) && values[i] != value)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "%s of %s is stated twice, and beside the spec it is %s: leave one of them out.", key,
                       owner, text);
    values[i] = value;
    return TITHE_OK;
}

void ti_spec_defaults(const tithe_param *table, double *values)
{
    for (int i = 0; table && table[i].name; i++)
        if (isnan(values[i])) values[i] = table[i].fallback;
}

static size_t write_spec(char *dst, size_t size, const char *name, const tithe_param *table,
                         const double *values)
{
    size_t used = (size_t)snprintf(dst, size, "%s", name);
    char separator = ':';
    for (int i = 0; table && table[i].name && used < size; i++) {
        if (isnan(values[i]) || values[i] == table[i].fallback) continue;
        used += (size_t)snprintf(dst + used, size - used, "%c%s=", separator, table[i].name);
        if (used >= size) break;
        if (table[i].choices) {
            const char *choice = table[i].choices;
            for (double place = values[i]; place > 0 && choice; place--) choice = next_choice(choice);
            if (choice)
                used += (size_t)snprintf(dst + used, size - used, "%.*s", (int)choice_length(choice), choice);
        } else {
            /* The shortest text that reads back as the same number. */
            char number[32];
            for (int digits = 6; digits <= 17; digits++) {
                snprintf(number, sizeof number, "%.*g", digits, values[i]);
                if (strtod(number, NULL) == values[i]) break;
            }
            used += (size_t)snprintf(dst + used, size - used, "%s", number);
        }
        separator = ',';
    }
    return used;
}

void ti_spec_write(char *dst, size_t size, const char *name, const tithe_param *table, const double *values)
{
    locale_t ours;
    const locale_t before = enter_no_country(&ours);
    write_spec(dst, size, name, table, values);
    leave_no_country(ours, before);
}
