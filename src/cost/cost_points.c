/* cost_points.c - read the points of a measured cost: lines of `bytes,seconds`, or {"points":[{"bytes":,"seconds":}]}.
 *
 * The JSON is read for its points alone: wherever a "bytes" and a "seconds" stand in one pair of braces, that is a
 * point. */
#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/cost.h"

enum { LONGEST_FILE = 1 << 24, MAX_POINTS = 1 << 18 };

typedef struct point_reader {
    const char *path, *text;
    tithe_link_point *points;
    size_t count, room;
    tithe_error *error;
} point_reader;

static size_t line_of(const point_reader *r, const char *at)
{
    size_t line = 1;
    for (const char *p = r->text; p < at; p++) line += *p == '\n';
    return line;
}

static tithe_status fail_at(const point_reader *r, const char *at, const char *what)
{
    return ti_fail(r->error, TITHE_E_DATA, line_of(r, at), "%.160s, line %zu: %s.", r->path, line_of(r, at),
                   what);
}

static tithe_status add_point(point_reader *r, const char *at, double bytes, double seconds)
{
    if (!isfinite(bytes) || !isfinite(seconds) || bytes < 0 || seconds < 0)
        return fail_at(r, at, "bytes and seconds must be finite and not negative");
    if (r->count) {
        const tithe_link_point *last = r->points + r->count - 1;
        char what[160];
        if (bytes <= last->bytes) {
            snprintf(what, sizeof what, "%.12g bytes come after %.12g: sort the points by bytes, each once",
                     bytes, last->bytes);
            return fail_at(r, at, what);
        }
        if (seconds < last->seconds) {
            snprintf(what, sizeof what,
                     "%.12g bytes take %.9g s, but %.12g take %.9g: more bytes cannot cost less", bytes,
                     seconds, last->bytes, last->seconds);
            return fail_at(r, at, what);
        }
    }
    if (r->count == MAX_POINTS) return fail_at(r, at, "there are more than 262,144 points");
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        tithe_link_point *more = realloc(r->points, r->room * sizeof *more);
        if (!more) return ti_fail(r->error, TITHE_E_MEMORY, 0, "There is not enough memory for the points.");
        r->points = more;
    }
    r->points[r->count++] = (tithe_link_point){bytes, seconds};
    return TITHE_OK;
}

/* A decimal number, with blanks before and after it. */
static bool take_number(const char **at, double *value)
{
    while (isblank((unsigned char)**at)) (*at)++;
    if (!strchr("+-.0123456789", **at) || !**at) return false;
    char *end;
    *value = strtod(*at, &end);
    if (end == *at || !isfinite(*value)) return false;
    *at = end;
    while (isblank((unsigned char)**at)) (*at)++;
    return true;
}

static tithe_status read_lines(point_reader *r)
{
    bool heading = true; /* the first line that is not a comment may name the columns */
    for (const char *at = r->text; *at;) {
        const char *start = at, *end = at + strcspn(at, "\n");
        while (isspace((unsigned char)*at) && at < end) at++;
        const bool words = isalpha((unsigned char)*at) != 0;
        if (at < end && *at != '#') {
            double bytes, seconds;
            const bool fine = take_number(&at, &bytes) &&
                              (*at == ',' || *at == ';' ? *at++ != 0 : at > start) &&
                              take_number(&at, &seconds) && (at == end || *at == '\r' || *at == '#');
            if (!fine && !(heading && words))
                return fail_at(r, start, "this is not a point: write bytes,seconds");
            const tithe_status status = fine ? add_point(r, start, bytes, seconds) : TITHE_OK;
            if (status) return status;
            heading = false;
        }
        at = *end ? end + 1 : end;
    }
    return TITHE_OK;
}

/* The number after "name": between `at` and `end`. */
static bool member(const char *at, const char *end, const char *name, double *value)
{
    const size_t length = strlen(name);
    for (; at + length + 2 < end; at++) {
        if (*at != '"' || strncmp(at + 1, name, length) != 0 || at[length + 1] != '"') continue;
        at += length + 2;
        while (isspace((unsigned char)*at)) at++;
        if (*at++ != ':') return false;
        while (isspace((unsigned char)*at)) at++;
        return take_number(&at, value);
    }
    return false;
}

static tithe_status read_json(point_reader *r)
{
    const char *at = strstr(r->text, "\"points\"");
    if (!at) return fail_at(r, r->text, "there are no \"points\" in it");
    at += strcspn(at, "[");
    while (*at && *at != ']') {
        at += strcspn(at, "{]");
        if (*at != '{') break;
        const char *end = at + strcspn(at, "}");
        double bytes, seconds;
        if (!*end || !member(at, end, "bytes", &bytes) || !member(at, end, "seconds", &seconds))
            return fail_at(r, at, "a point has \"bytes\" and \"seconds\", both numbers");
        const tithe_status status = add_point(r, at, bytes, seconds);
        if (status) return status;
        at = end;
    }
    return *at == ']' ? TITHE_OK : fail_at(r, at, "the list of points does not end");
}

static size_t line_of_zero(const char *text)
{
    size_t line = 1;
    for (; *text; text++) line += *text == '\n';
    return line;
}

static tithe_status read_all(const char *path, char **text, tithe_error *error)
{
    FILE *file = fopen(path, "rb");
    if (!file) return ti_fail(error, TITHE_E_FILE, 0, "%.160s cannot be read: %s.", path, strerror(errno));
    tithe_status status = TITHE_OK;
    *text = malloc(LONGEST_FILE + 1);
    const size_t length = *text ? fread(*text, 1, LONGEST_FILE + 1, file) : 0;
    if (!*text)
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to read %.160s.", path);
    else if (ferror(file))
        status = ti_fail(error, TITHE_E_FILE, 0, "%.160s cannot be read: %s.", path, strerror(errno));
    else if (length > LONGEST_FILE)
        status = ti_fail(error, TITHE_E_DATA, 0, "%.160s is no table of points: it is too long.", path);
    else if (memchr(*text, 0, length))
        status = ti_fail(error, TITHE_E_DATA, 0, "%.160s, line %zu: this is no text, so no table of points.",
                         path, line_of_zero(*text));
    else
        (*text)[length] = 0;
    fclose(file);
    if (status) free(*text);
    return status;
}

static tithe_status read_points(point_reader *r)
{
    const char *first = r->text;
    while (isspace((unsigned char)*first)) first++;
    const tithe_status status = *first == '{' || *first == '[' ? read_json(r) : read_lines(r);
    if (status) return status;
    if (r->count < 2)
        return fail_at(r, r->text + strlen(r->text),
                       r->count ? "one point makes no line: at least two are needed"
                                : "there is no point in it: at least two are needed");
    return TITHE_OK;
}

tithe_status ti_cost_read_points(const char *path, tithe_link_point **points, size_t *count,
                                 tithe_error *error)
{
    char *text = NULL;
    tithe_status status = read_all(path, &text, error);
    if (status) return status;
    point_reader r = {.path = path, .text = text, .error = error};
    /* Numbers have a point in every country. */
    const locale_t ours = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const locale_t before = ours ? uselocale(ours) : (locale_t)0;
    status = read_points(&r);
    if (ours) {
        uselocale(before);
        freelocale(ours);
    }
    free(text);
    if (status) {
        free(r.points);
        return status;
    }
    *points = r.points;
    *count = r.count;
    return TITHE_OK;
}
