/* page_data.c - see page_data.h. */
#include "report/page_data.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/numbers.h"
#include "report/summary.h"
#include "report/thin.h"
#include "report/trace.h"
#include "tithe/tithe.h"

/* Points of one run, and of all of them: with many runs the page stays small enough for a phone. */
enum { MAX_POINTS = 2000, FEWEST_POINTS = 500, ALL_POINTS = 24000 };

/* ---- texts ---------------------------------------------------------------------------------------------- */

/* The length of the UTF-8 character at s and its number; 0: there is none. */
static size_t character(const unsigned char *s, uint32_t *number)
{
    static const uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = *s < 0x80 ? 1 : *s >= 0xf0 && *s < 0xf8 ? 4 : *s >= 0xe0 ? 3 : *s >= 0xc0 ? 2 : 0;
    if (length == 0 || *s >= 0xf8) return 0;
    *number = length == 1 ? *s : *s & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0; /* the NUL at the end stops here, too */
        *number = *number << 6 | (s[i] & 0x3fu);
    }
    if (*number < min[length] || *number > 0x10ffff || (*number >= 0xd800 && *number < 0xe000)) return 0;
    return length;
}

void ti_json_text(buffer *b, const char *text)
{
    ti_buffer_text(b, "\"");
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        uint32_t number = 0;
        const size_t length = character(s, &number);
        if (length == 0) number = 0xfffd;
        const bool special =
            number < 128 && (number < 32 || number == 127 || strchr("\"\\<>&'", (int)number));
        if (length > 0 && !special && number != 0x2028 && number != 0x2029) {
            ti_buffer_add(b, s, length);
        } else {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)number & 0xffff);
            ti_buffer_text(b, escape);
        }
        s += length ? length : 1;
    }
    ti_buffer_text(b, "\"");
}

void ti_html_text(buffer *b, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        uint32_t number = 0;
        const size_t length = character(s, &number);
        char escape[16];
        if (length == 0) {
            ti_buffer_text(b, "\xef\xbf\xbd");
        } else if (length > 1) {
            ti_buffer_add(b, s, length);
        } else if (number < 32 || number == 127) {
            ti_buffer_text(b, " ");
        } else if (strchr("&<>\"'", (int)number)) {
            snprintf(escape, sizeof escape, "&#%u;", (unsigned)number);
            ti_buffer_text(b, escape);
        } else {
            ti_buffer_add(b, s, 1);
        }
        s += length ? length : 1;
    }
}

/* ---- numbers -------------------------------------------------------------------------------------------- */

/* JSON has no infinity, but every reader makes one of 1e999. */
static void add_number(buffer *b, double value, int digits)
{
    char text[NUMBER_SIZE];
    if (isnan(value))
        ti_buffer_text(b, "null");
    else if (isinf(value))
        ti_buffer_text(b, value > 0 ? "1e999" : "-1e999");
    else
        ti_buffer_add(b, text, (size_t)snprintf(text, sizeof text, "%.*g", digits, value));
}

static void add_key(buffer *b, const char *key, bool first)
{
    if (!first) ti_buffer_text(b, ",");
    ti_json_text(b, key);
    ti_buffer_text(b, ":");
}

static bool any_number(const tithe_trace *trace, const tithe_column *c)
{
    for (size_t i = 0; i < tithe_trace_count(trace); i++)
        if (!isnan(ti_number_at(tithe_trace_at(trace, i), c))) return true;
    return false;
}

/* Eight digits are more than a screen shows. A column without any number is left out. */
static void add_columns(buffer *b, const tithe_trace *trace, const size_t *points, size_t count)
{
    bool first = true;
    for (const tithe_column *c = tithe_columns(); c->name; c++) {
        if (c->kind != TITHE_COLUMN_NUMBER || !any_number(trace, c)) continue;
        add_key(b, c->name, first);
        first = false;
        ti_buffer_text(b, "[");
        for (size_t i = 0; i < count; i++) {
            if (i) ti_buffer_text(b, ",");
            add_number(b, ti_number_at(tithe_trace_at(trace, points[i]), c), 8);
        }
        ti_buffer_text(b, "]");
    }
}

/* Texts change rarely: [point, text] where one begins. A column of empty texts is left out. */
static void add_texts(buffer *b, const tithe_trace *trace, const size_t *points, size_t count)
{
    bool first = true;
    for (const tithe_column *c = tithe_columns(); c->name; c++) {
        if (c->kind != TITHE_COLUMN_TEXT) continue;
        const char *before = "";
        bool open = false;
        for (size_t i = 0; i < count; i++) {
            const char *text = ti_text_at(tithe_trace_at(trace, points[i]), c);
            if (strcmp(text, before) == 0) continue;
            char place[24];
            snprintf(place, sizeof place, "[%zu,", i);
            if (!open) {
                add_key(b, c->name, first);
                ti_buffer_text(b, "[");
            } else {
                ti_buffer_text(b, ",");
            }
            open = true;
            first = false;
            ti_buffer_text(b, place);
            ti_json_text(b, text);
            ti_buffer_text(b, "]");
            before = text;
        }
        if (open) ti_buffer_text(b, "]");
    }
}

static void add_final(buffer *b, const tithe_trace_record *final)
{
    for (const tithe_column *c = tithe_columns(); c->name; c++) {
        if (c->kind != TITHE_COLUMN_NUMBER) continue;
        add_key(b, c->name, c == tithe_columns());
        add_number(b, ti_number_at(final, c), 17);
    }
}

/* Where the time of a mean step went. */
static void add_phases(buffer *b, const tithe_trace_record *final)
{
    static const char *const phases[] = {"compute", "encode", "wait",    "transfer",
                                         "decode",  "other",  "overlap", NULL};
    for (const tithe_column *c = tithe_columns(); c->name; c++) {
        for (size_t p = 0; phases[p]; p++) {
            if (strcmp(phases[p], c->name) != 0) continue;
            add_key(b, c->name, p == 0);
            add_number(b, final->step > 0 ? ti_number_at(final, c) / final->step : NAN, 8);
        }
    }
}

static void add_cheaper(buffer *b, const cheaper *c)
{
    static const char *const kinds[] = {"unknown", "baseline", "dense"};
    add_key(b, "kind", true);
    ti_json_text(b, kinds[c->kind]);
    add_key(b, "times", false);
    add_number(b, c->times, 8);
    add_key(b, "sent", false);
    add_number(b, c->sent, 8);
    add_key(b, "loss", false);
    add_number(b, c->loss, 8);
    add_key(b, "baseline", false);
    add_number(b, c->kind == CHEAPER_BASELINE ? (double)c->baseline : NAN, 17);
}

static void add_facts(buffer *b, const tithe_trace *trace)
{
    for (size_t i = 0; i < tithe_trace_fact_count(trace); i++) {
        const char *key, *value;
        tithe_trace_fact_at(trace, i, &key, &value);
        ti_buffer_text(b, i ? ",[" : "[");
        ti_json_text(b, key);
        ti_buffer_text(b, ",");
        ti_json_text(b, value);
        ti_buffer_text(b, "]");
    }
}

/* Settings that a tuner changed to, all of them: where, which and why. Their lines have no loss, and are not thinned. */
static void add_settings(buffer *b, const tithe_trace *trace)
{
    bool first = true;
    for (size_t i = 0; i < tithe_trace_count(trace); i++) {
        const tithe_trace_record *record = tithe_trace_at(trace, i);
        if (!record->setting || !*record->setting) continue;
        ti_buffer_text(b, first ? "[" : ",[");
        first = false;
        add_number(b, record->step, 17);
        ti_buffer_text(b, ",");
        add_number(b, record->seconds, 8);
        ti_buffer_text(b, ",");
        ti_json_text(b, record->setting);
        ti_buffer_text(b, ",");
        ti_json_text(b, record->reason);
        ti_buffer_text(b, "]");
    }
}

static void add_run(buffer *b, const tithe_trace *const *traces, size_t count, size_t i, size_t *points,
                    size_t max)
{
    const tithe_trace *trace = traces[i];
    const tithe_trace_record final = ti_summary_final(trace);
    const cheaper c = ti_summary_cheaper(traces, count, i);
    const size_t kept = ti_thin(trace, max, points);
    ti_buffer_text(b, "{\"name\":");
    ti_json_text(b, tithe_trace_name(trace));
    ti_buffer_text(b, ",\"records\":");
    add_number(b, (double)tithe_trace_count(trace), 17);
    ti_buffer_text(b, ",\"facts\":[");
    add_facts(b, trace);
    ti_buffer_text(b, "],\"final\":{");
    add_final(b, &final);
    ti_buffer_text(b, "},\"per_step\":{");
    add_phases(b, &final);
    ti_buffer_text(b, "},\"cheaper\":{");
    add_cheaper(b, &c);
    ti_buffer_text(b, "},\"settings\":[");
    add_settings(b, trace);
    ti_buffer_text(b, "],\"texts\":{");
    add_texts(b, trace, points, kept);
    ti_buffer_text(b, "},\"numbers\":{");
    add_columns(b, trace, points, kept);
    ti_buffer_text(b, "}}\n");
}

bool ti_page_data(buffer *b, const tithe_trace *const *traces, size_t count)
{
    size_t max = count ? ALL_POINTS / count : MAX_POINTS;
    max = max > MAX_POINTS ? MAX_POINTS : max < FEWEST_POINTS ? FEWEST_POINTS : max;
    size_t *points = malloc(max * sizeof *points);
    number_locale locale;
    if (!points || !ti_number_enter(&locale)) {
        free(points);
        return false;
    }
    ti_buffer_text(b, "{\"version\":");
    ti_json_text(b, tithe_version());
    ti_buffer_text(b, ",\"columns\":{");
    for (const tithe_column *c = tithe_columns(); c->name; c++) {
        add_key(b, c->name, c == tithe_columns());
        ti_buffer_text(b, "{\"unit\":");
        ti_json_text(b, c->unit);
        ti_buffer_text(b, ",\"doc\":");
        ti_json_text(b, c->doc);
        ti_buffer_text(b, "}");
    }
    ti_buffer_text(b, "},\"runs\":[\n");
    for (size_t i = 0; i < count; i++) {
        if (i) ti_buffer_text(b, ",");
        add_run(b, traces, count, i, points, max);
    }
    ti_buffer_text(b, "]}");
    ti_number_leave(&locale);
    free(points);
    return !b->failed;
}
