/* description.c - see description.h. */
#include "base/description.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------------------- */

static bool make_room(description *d, size_t more)
{
    if (d->length + more < d->room) return true;
    const size_t room = 2 * d->room + more + 256;
    char *text = d->spoilt ? NULL : realloc(d->text, room);
    d->spoilt = !text;
    if (!text) return false;
    d->text = text;
    d->room = room;
    return true;
}

void ti_description_add(description *d, const char *key, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const size_t before = strlen(key) + 2, value = (size_t)vsnprintf(NULL, 0, format, arguments);
    if (make_room(d, before + value + 2)) {
        char *line = d->text + d->length;
        memcpy(line, key, before - 2);
        memcpy(line + before - 2, ": ", 2);
        vsnprintf(line + before, value + 1, format, again);
        d->length += before + value;
        for (char *c = line; c < d->text + d->length; c++)
            if ((unsigned char)*c < 32 || *c == 127) *c = ' ';
        memcpy(d->text + d->length++, "\n", 2);
    }
    va_end(again);
    va_end(arguments);
}

static void append(description *d, const char *piece, size_t length)
{
    if (!length || !make_room(d, length + 1)) return;
    memcpy(d->text + d->length, piece, length);
    d->length += length;
    d->text[d->length] = 0;
}

void ti_description_append(description *d, const char *text)
{
    if (text) append(d, text, strlen(text));
}

void ti_description_add_row(description *d, const description_row *row)
{
    append(d, row->key, (size_t)(row->value + row->value_length - row->key));
    append(d, "\n", 1);
}

void ti_description_free(description *d)
{
    free(d->text);
    *d = (description){0};
}

/* ---- reading --------------------------------------------------------------------------------------------- */

bool ti_description_next(const char **text, description_row *row)
{
    const char *line = *text;
    const size_t length = strcspn(line, "\n"), colon = strcspn(line, ":");
    if (colon == 0 || colon + 2 > length || line[colon + 1] != ' ') return false;
    *row = (description_row){line, line + colon + 2, colon, length - colon - 2};
    *text = line + length + (line[length] == '\n');
    return true;
}

bool ti_description_is(const description_row *row, const char *key)
{
    return strlen(key) == row->key_length && memcmp(row->key, key, row->key_length) == 0;
}

bool ti_description_find(const char *text, const char *key, description_row *row)
{
    while (ti_description_next(&text, row))
        if (ti_description_is(row, key)) return true;
    return false;
}

void ti_description_copy(const description_row *row, char *value, size_t room, bool *fits)
{
    const size_t length = row->value_length < room ? row->value_length : room - 1;
    memcpy(value, row->value, length);
    value[length] = 0;
    if (fits) *fits = length == row->value_length;
}

/* ---- comparing ------------------------------------------------------------------------------------------- */

static bool same_value(const description_row *a, const description_row *b)
{
    return a->value_length == b->value_length && memcmp(a->value, b->value, a->value_length) == 0;
}

/* Names of files differ, but what is in them does not. */
static bool same_contents(const char *first, const char *second, const char *key)
{
    char contents[64];
    description_row a, b;
    snprintf(contents, sizeof contents, "%s contents", key);
    return ti_description_find(first, contents, &a) && ti_description_find(second, contents, &b) &&
           same_value(&a, &b);
}

/* Of a long value the part where the difference is. */
static void excerpt(char *to, size_t room, const description_row *row, size_t differs_at)
{
    const size_t before = 16, dots = 3;
    const size_t begin = row->value_length >= room && differs_at > before ? differs_at - before : 0;
    const size_t left = row->value_length - (begin < row->value_length ? begin : row->value_length);
    const bool ends = left + (begin ? dots : 0) < room;
    const size_t length = ends ? left : room - 1 - dots - (begin ? dots : 0);
    snprintf(to, room, "%s%.*s%s", begin ? "..." : "", (int)length, row->value + row->value_length - left,
             ends ? "" : "...");
}

static void tell_apart(const description_row *a, const description_row *b, description_difference *d)
{
    size_t at = 0;
    while (a && b && at < a->value_length && at < b->value_length && a->value[at] == b->value[at]) at++;
    snprintf(d->first, sizeof d->first, "(not given)");
    snprintf(d->second, sizeof d->second, "(not given)");
    if (a) excerpt(d->first, sizeof d->first, a, at);
    if (b) excerpt(d->second, sizeof d->second, b, at);
}

/* The rows of `text` against those of `other`: the first that differs, or is missing there. */
static bool find_difference(const char *text, const char *other, bool (*counts)(const char *),
                            description_difference *d, description_row *mine, description_row *theirs,
                            bool *missing)
{
    for (const char *at = text; ti_description_next(&at, mine);) {
        const size_t length = mine->key_length < sizeof d->key ? mine->key_length : sizeof d->key;
        snprintf(d->key, sizeof d->key, "%.*s", (int)length, mine->key);
        if (counts && !counts(d->key)) continue;
        *missing = !ti_description_find(other, d->key, theirs);
        if (!*missing && same_value(mine, theirs)) continue;
        if (!same_contents(text, other, d->key)) return true;
    }
    return false;
}

bool ti_description_differ(const char *first, const char *second, bool (*counts)(const char *key),
                           description_difference *d)
{
    description_row a, b;
    bool missing;
    if (find_difference(first, second, counts, d, &a, &b, &missing)) {
        tell_apart(&a, missing ? NULL : &b, d);
        return true;
    }
    if (!find_difference(second, first, counts, d, &b, &a, &missing)) return false;
    tell_apart(NULL, &b, d); /* what the first has was compared */
    return true;
}
