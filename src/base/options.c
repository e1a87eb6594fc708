/* options.c - the values of options, by their table: from text, to text, and what they are when nobody says. */
#include "base/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spec.h"
#include "base/status.h"

const tithe_option *ti_option_in(const tithe_option *table, const char *name)
{
    for (const tithe_option *row = table; row->name; row++)
        if (strcmp(row->name, name) == 0) return row;
    return NULL;
}

/* ---- fields: of several types and widths, so their bytes are copied ------------------------------------------- */

static void put_bytes(void *o, const tithe_option *row, const void *value)
{
    memcpy((char *)o + row->place, value, row->size);
}

static void get_bytes(const void *o, const tithe_option *row, void *value)
{
    memcpy(value, (const char *)o + row->place, row->size);
}

static void put_whole(void *o, const tithe_option *row, uint64_t value)
{
    const bool yes = value != 0;
    const uint32_t half = (uint32_t)value;
    if (row->size == sizeof yes) put_bytes(o, row, &yes);
    if (row->size == sizeof half) put_bytes(o, row, &half);
    if (row->size == sizeof value) put_bytes(o, row, &value);
}

static uint64_t get_whole(const void *o, const tithe_option *row)
{
    bool yes = false;
    uint32_t half = 0;
    uint64_t value = 0;
    if (row->size == sizeof yes) get_bytes(o, row, &yes);
    if (row->size == sizeof half) get_bytes(o, row, &half);
    if (row->size == sizeof value) get_bytes(o, row, &value);
    return yes + half + value;
}

static double get_real(const void *o, const tithe_option *row)
{
    double value;
    get_bytes(o, row, &value);
    return value;
}

static const char *get_text(const void *o, const tithe_option *row)
{
    const char *text;
    get_bytes(o, row, &text);
    return text;
}

static void put_text(void *o, const tithe_option *row, const char *text)
{
    put_bytes(o, row, &text);
}

/* ---- from text --------------------------------------------------------------------------------------------- */

/* Digits alone: no sign, no blank, no overflow. */
static bool read_digits(const char *text, size_t length, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        const uint64_t digit = (uint64_t)(text[i] - '0');
        if (*value > (UINT64_MAX - digit) / 10) return false;
        *value = *value * 10 + digit;
    }
    return length > 0;
}

/* 1,048,576 */
static const char *group(uint64_t value, char text[static 32])
{
    char digits[24];
    const int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    char *to = text;
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) *to++ = ',';
        *to++ = digits[i];
    }
    *to = 0;
    return text;
}

static tithe_status read_whole(void *o, const tithe_option *row, const char *text, tithe_error *error)
{
    uint64_t value;
    char min[32], max[32];
    if (!read_digits(text, strlen(text), &value) || value < row->min || value > row->max)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "`%s` takes a whole number from %s to %s, not '%.80s'.",
                       row->name, group(row->min, min), group(row->max, max), text);
    put_whole(o, row, value);
    return TITHE_OK;
}

static tithe_status read_real(void *o, const tithe_option *row, const char *text, tithe_error *error)
{
    char *end;
    const double value = strtod(text, &end);
    if (!*text || *end || !(value >= row->real_min && value <= row->real_max))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "`%s` takes a number from %g to %g, not '%.80s'.",
                       row->name, row->real_min, row->real_max, text);
    put_bytes(o, row, &value);
    return TITHE_OK;
}

int tithe_option_choice(const char *choices, const char *word)
{
    const size_t length = strlen(word);
    for (int place = 0;; place++) {
        const size_t here = strcspn(choices, "|");
        if (here == length && memcmp(choices, word, length) == 0) return place;
        if (!choices[here]) return -1;
        choices += here + 1;
    }
}

static tithe_status read_choice(void *o, const tithe_option *row, const char *text, tithe_error *error)
{
    const int place = tithe_option_choice(row->choices, text);
    if (place < 0)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "`%s` takes one of %s, not '%.80s'.", row->name,
                       row->argument, text);
    put_whole(o, row, (uint64_t)place);
    return TITHE_OK;
}

static tithe_status read_flag(void *o, const tithe_option *row, const char *text, tithe_error *error)
{
    const int place = text ? tithe_option_choice("no|yes", text) : 1;
    if (place < 0)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "`%s` is yes or no, not '%.80s'.", row->name, text);
    put_whole(o, row, (uint64_t)place);
    return TITHE_OK;
}

static tithe_status read_clients(void *o, const tithe_option *row, const char *text, tithe_error *error)
{
    uint64_t value;
    const size_t length = strcspn(text, "/");
    const bool fine = !text[length] || strcmp(text + length, "/round") == 0;
    if (!fine || !read_digits(text, length, &value) || value < row->min || value > row->max)
        return ti_fail(
            error, TITHE_E_ARGUMENT, 0,
            "`%s` takes how many of the workers take part in a step, such as 5/round, not '%.80s'.",
            row->name, text);
    put_whole(o, row, value);
    return TITHE_OK;
}

/* An amount of bytes, as a spec would have it. */
static bool read_bytes(const char *text, double *bytes)
{
    static const tithe_param size[] = {
        {.name = "size", .doc = "", .fallback = NAN, .min = 64, .max = 1e15, .unit = TITHE_UNIT_BYTES},
        {.name = NULL}};
    char spec[64];
    double values[TITHE_MAX_PARAMS];
    const int length = snprintf(spec, sizeof spec, "size=%s", text);
    if (length >= (int)sizeof spec || strpbrk(text, ",= ")) return false;
    if (ti_spec_read("bucket", (spec_piece){spec, 0, (size_t)length}, size, values, NULL)) return false;
    *bytes = values[0];
    return true;
}

static tithe_status read_bucket(void *o, const tithe_option *row, const char *text, tithe_error *error)
{
    double bytes = 0;
    const bool layer = strcmp(text, "layer") == 0;
    if (!layer && strcmp(text, "off") != 0 && !read_bytes(text, &bytes))
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "`%s` takes off, layer, or a size of at least 64 bytes such as 1MiB, not '%.80s'.",
                       row->name, text);
    put_whole(o, row, layer ? SIZE_MAX : (uint64_t)bytes);
    return TITHE_OK;
}

static tithe_status read_amount(void *o, const tithe_option *row, const char *text, tithe_error *error)
{
    double bytes;
    if (!read_bytes(text, &bytes))
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "`%s` takes an amount of bytes, at least 64, such as 100MB or 4GiB, not '%.80s'.",
                       row->name, text);
    put_whole(o, row, (uint64_t)bytes);
    return TITHE_OK;
}

tithe_status ti_option_read(void *o, const tithe_option *row, const char *text, tithe_error *error)
{
    if (row->kind == TITHE_OPTION_FLAG) return read_flag(o, row, text, error);
    if (!text || !*text)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "`%s` needs a value that is not empty: `%s=%s`.",
                       row->name, row->name, row->argument);
    switch (row->kind) {
    case TITHE_OPTION_WHOLE: return read_whole(o, row, text, error);
    case TITHE_OPTION_REAL: return read_real(o, row, text, error);
    case TITHE_OPTION_CHOICE: return read_choice(o, row, text, error);
    case TITHE_OPTION_CLIENTS: return read_clients(o, row, text, error);
    case TITHE_OPTION_BUCKET: return read_bucket(o, row, text, error);
    case TITHE_OPTION_BYTES: return read_amount(o, row, text, error);
    case TITHE_OPTION_TEXT:
    case TITHE_OPTION_FLAG: break;
    }
    put_text(o, row, text);
    return TITHE_OK;
}

/* ---- to text ----------------------------------------------------------------------------------------------- */

/* As few digits as bring back the same number. */
static const char *write_real(double value, char *room)
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(room, OPTION_ROOM, "%.*g", digits, value);
        if (strtod(room, NULL) == value) break;
    }
    return room;
}

static const char *write_choice(const tithe_option *row, uint64_t place, char *room)
{
    const char *word = row->choices;
    for (; place && strchr(word, '|'); place--) word = strchr(word, '|') + 1;
    snprintf(room, OPTION_ROOM, "%.*s", (int)strcspn(word, "|"), word);
    return room;
}

static const char *write_bucket(uint64_t bytes, char *room)
{
    if (bytes == 0) return "off";
    if (bytes == SIZE_MAX) return "layer";
    snprintf(room, OPTION_ROOM, "%llu", (unsigned long long)bytes);
    return room;
}

const char *ti_option_write(const void *o, const tithe_option *row, char room[static OPTION_ROOM])
{
    if (row->kind == TITHE_OPTION_TEXT) return get_text(o, row);
    if (row->kind == TITHE_OPTION_REAL) {
        const double value = get_real(o, row);
        return value >= row->real_min ? write_real(value, room)
                                      : NULL; /* nor is it given if it is no number */
    }
    const uint64_t value = get_whole(o, row);
    switch (row->kind) {
    case TITHE_OPTION_CHOICE: return write_choice(row, value, room);
    case TITHE_OPTION_FLAG: return value ? "yes" : "no";
    case TITHE_OPTION_BUCKET: return write_bucket(value, room);
    default: break;
    }
    if (value < row->min) return NULL;
    snprintf(room, OPTION_ROOM, row->kind == TITHE_OPTION_CLIENTS ? "%llu/round" : "%llu",
             (unsigned long long)value);
    return room;
}

/* ---- defaults ---------------------------------------------------------------------------------------------- */

void ti_option_clear(void *o, const tithe_option *row)
{
    if (row->kind == TITHE_OPTION_TEXT)
        put_text(o, row, NULL);
    else if (row->fallback)
        ti_option_read(o, row, row->fallback, NULL);
    else if (row->kind == TITHE_OPTION_REAL)
        put_bytes(o, row, &row->unset);
    else
        put_whole(o, row, (uint64_t)row->unset);
}

void ti_options_clear(void *o, const tithe_option *table)
{
    for (const tithe_option *row = table; row->name; row++) ti_option_clear(o, row);
}

void ti_options_complete(void *o, const tithe_option *table)
{
    for (const tithe_option *row = table; row->name; row++)
        if (row->kind == TITHE_OPTION_TEXT && !get_text(o, row)) put_text(o, row, row->fallback);
}

/* ---- "key=value;key=value" ----------------------------------------------------------------------------------- */

/* The keys that there are, in one line. */
static void list_keys(const tithe_option *table, char *list, size_t room)
{
    size_t used = 0;
    list[0] = 0;
    for (const tithe_option *row = table; row->name && used < room; row++)
        used += (size_t)snprintf(list + used, room - used, "%s%s", used ? ", " : "", row->name);
}

static tithe_status read_pieces(void *o, const tithe_option *table, char *text, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (char *at = text, *next; at && *at && !status; at = next) {
        char *end = strchr(at, ';'), *equals = strchr(at, '=');
        next = end ? end + 1 : NULL;
        if (end) *end = 0;
        if (equals && end && equals > end) equals = NULL;
        if (equals) *equals = 0;
        for (char *c = at; *c; c++) *c = *c == '_' ? '-' : *c; /* as languages without '-' in names have it */
        const tithe_option *row = ti_option_in(table, at);
        if (!row) {
            char list[190];
            list_keys(table, list, sizeof list);
            return ti_fail(error, TITHE_E_SPEC, (size_t)(at - text),
                           "There is no option '%.30s': there are %s.", at, list);
        }
        status = ti_option_read(o, row, equals ? equals + 1 : NULL, error);
    }
    return status;
}

tithe_status tithe_options_read(const tithe_option *table, char *text, void *options, tithe_error *error)
{
    ti_options_clear(options, table);
    const tithe_status status = read_pieces(options, table, text, error);
    if (!status) ti_options_complete(options, table);
    return status;
}
