/* trace_csv.c - reads the file form of a trace, and believes nothing: a line that is not what it should be is
 * refused with its number. Only the last line may be broken off, since that is how a stopped run ends. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "report/buffer.h"
#include "report/numbers.h"
#include "report/trace.h"

enum { MAX_FIELDS = 256 };

/* A piece of the text. Quotes are undone in place, so the text is a copy of our own. */
typedef struct piece {
    char *text;
    size_t length;
} piece;

typedef struct reader {
    const char *source;
    size_t line, offset; /* of the line at hand: its number, counted from 1, and where it begins */
    tithe_error *error;
    tithe_trace *trace;
    const tithe_column *columns[MAX_FIELDS]; /* of the file; NULL: not known to us */
    size_t column_count;                     /* 0: the line of names has not come yet */
} reader;

/* A long path loses its beginning, so that the sentence keeps its end. */
static tithe_status broken(const reader *r, const char *sentence)
{
    enum { MAX = 100 };
    const size_t length = strlen(r->source);
    const bool cut = length > MAX;
    return ti_fail(r->error, TITHE_E_DATA, r->offset, "%s%s:%zu: %s", cut ? "..." : "",
                   r->source + (cut ? length - MAX : 0), r->line, sentence);
}

static tithe_status no_memory(const reader *r)
{
    return ti_fail(r->error, TITHE_E_MEMORY, r->offset, "There is no memory for the trace '%.100s'.",
                   r->source);
}

static piece trimmed(piece p)
{
    while (p.length > 0 && p.text[0] == ' ') p = (piece){p.text + 1, p.length - 1};
    while (p.length > 0 && p.text[p.length - 1] == ' ') p.length--;
    return p;
}

/* ---- facts ---------------------------------------------------------------------------------------------- */

/* "a\nb" to its text. False: the quotes do not close, or an escape is unknown. */
static bool unescape(piece *p)
{
    if (p->length == 0 || p->text[0] != '"') return true;
    size_t to = 0;
    for (size_t i = 1; i < p->length; i++) {
        char c = p->text[i];
        if (c == '"') {
            const bool whole = i + 1 == p->length;
            p->length = to;
            return whole;
        }
        if (c == '\\') {
            static const char written[] = "nrt\"\\", plain[] = "\n\r\t\"\\";
            const char *known = ++i < p->length ? memchr(written, p->text[i], sizeof written - 1) : NULL;
            if (!known) return false;
            c = plain[known - written];
        }
        p->text[to++] = c;
    }
    return false;
}

static tithe_status read_fact(reader *r, piece line)
{
    char *colon = memchr(line.text, ':', line.length);
    if (!colon) return broken(r, "A line that starts with # must read '# key: value'.");
    const piece key = trimmed((piece){line.text + 1, (size_t)(colon - line.text) - 1});
    piece value = trimmed((piece){colon + 1, line.length - (size_t)(colon - line.text) - 1});
    if (!unescape(&value)) return broken(r, "The quoted value of this fact is not whole.");
    key.text[key.length] = 0;
    value.text[value.length] = 0;

    if (!r->trace) {
        if (strcmp(key.text, "name") != 0)
            return broken(r, "This is no trace: its first line must be '# name: ...'.");
        return tithe_trace_create(value.text, &r->trace, r->error);
    }
    if (!ti_key_is_fine(key.text)) return broken(r, "This fact has no key that may be used.");
    return tithe_trace_fact(r->trace, key.text, value.text) ? no_memory(r) : TITHE_OK;
}

/* ---- records -------------------------------------------------------------------------------------------- */

/* The next field of a line, its quotes undone. *rest is NULL behind the last one. False: quotes are wrong. */
static bool next_field(char **rest, const char *end, piece *field)
{
    char *from = *rest, *to = from, *out = from;
    bool quoted = from < end && *from == '"';
    if (quoted) {
        for (from++;; from++) {
            if (from >= end) return false;
            if (*from == '"' && (++from >= end || *from != '"')) break;
            *to++ = *from;
        }
        if (from < end && *from != ',') return false;
    } else {
        while (from < end && *from != ',')
            if (*from++ == '"') return false;
        to = from;
    }
    *field = (piece){out, (size_t)(to - out)};
    *rest = from < end ? from + 1 : NULL;
    return true;
}

static tithe_status read_names(reader *r, piece line)
{
    bool any = false;
    for (char *rest = line.text; rest;) {
        piece field;
        if (!next_field(&rest, line.text + line.length, &field)) return broken(r, "A quote is not closed.");
        if (r->column_count == MAX_FIELDS) return broken(r, "There are more than 256 columns.");
        const tithe_column *found = NULL;
        for (const tithe_column *c = tithe_columns(); c->name; c++)
            if (strlen(c->name) == field.length && memcmp(c->name, field.text, field.length) == 0) found = c;
        for (size_t i = 0; found && i < r->column_count; i++)
            if (r->columns[i] == found) return broken(r, "A column is named twice.");
        r->columns[r->column_count++] = found;
        any = any || found;
    }
    return any ? TITHE_OK : broken(r, "This is no trace: none of its columns is known.");
}

static tithe_status read_record(reader *r, piece line)
{
    tithe_trace_record record = ti_record_unknown();
    size_t i = 0;
    for (char *rest = line.text; rest; i++) {
        piece field;
        char sentence[120];
        if (!next_field(&rest, line.text + line.length, &field)) return broken(r, "A quote is not closed.");
        const tithe_column *c = i < r->column_count ? r->columns[i] : NULL;
        if (!c) continue;
        if (c->kind == TITHE_COLUMN_TEXT) {
            *ti_text_of(&record, c) = field.text; /* its end comes below */
        } else if (!ti_number_read(field.text, field.length, ti_number_of(&record, c))) {
            snprintf(sentence, sizeof sentence, "'%.*s' in column %s is not a number.",
                     field.length < 40 ? (int)field.length : 40, field.text, c->name);
            return broken(r, sentence);
        }
        field.text[field.length] = 0;
    }
    if (i != r->column_count) {
        char sentence[120];
        snprintf(sentence, sizeof sentence, "The line has %zu field%s, but there are %zu columns.", i,
                 i == 1 ? "" : "s", r->column_count);
        return broken(r, sentence);
    }
    return tithe_trace_add(r->trace, &record) ? no_memory(r) : TITHE_OK;
}

static tithe_status read_line(reader *r, piece line)
{
    if (line.length > 0 && line.text[line.length - 1] == '\r') line.length--;
    if (memchr(line.text, 0, line.length)) return broken(r, "The line holds a zero byte.");
    if (line.length > 0 && line.text[0] == '#') return read_fact(r, line);
    if (!r->trace) return broken(r, "This is no trace: its first line must be '# name: ...'.");
    if (r->column_count == 0) return read_names(r, line);
    if (line.length == 0) return broken(r, "The line is empty.");
    return read_record(r, line);
}

/* ---- files ---------------------------------------------------------------------------------------------- */

/* `text` is ours to change and ends with a byte more than `length`. */
static tithe_status parse_own(const char *source, char *text, size_t length, tithe_trace **trace,
                              tithe_error *error)
{
    reader r = {.source = source, .error = error};
    number_locale locale;
    if (!ti_number_enter(&locale)) return no_memory(&r);
    tithe_status status = TITHE_OK;
    r.line = 1;
    for (char *at = text, *end; !status && (end = memchr(at, '\n', length - (size_t)(at - text)));
         at = end + 1) {
        r.offset = (size_t)(at - text);
        status = read_line(&r, (piece){at, (size_t)(end - at)});
        if (!status) r.line++;
    }
    if (!status && !r.trace) status = broken(&r, "This is no trace: its first line must be '# name: ...'.");
    ti_number_leave(&locale);
    if (status)
        tithe_trace_free(r.trace);
    else
        *trace = r.trace;
    return status;
}

tithe_status tithe_trace_parse(const char *source, const char *text, size_t length, tithe_trace **trace,
                               tithe_error *error)
{
    if (!source || (!text && length) || !trace)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "There is no text to read.");
    char *own = malloc(length + 1);
    if (!own) return ti_fail(error, TITHE_E_MEMORY, 0, "There is no memory for the trace '%.100s'.", source);
    if (length) memcpy(own, text, length);
    own[length] = 0;
    const tithe_status status = parse_own(source, own, length, trace, error);
    free(own);
    return status;
}

tithe_status tithe_trace_read(const char *path, tithe_trace **trace, tithe_error *error)
{
    if (!path || !trace) return ti_fail(error, TITHE_E_ARGUMENT, 0, "There is no file to read.");
    FILE *file = fopen(path, "rb");
    if (!file) return ti_fail(error, TITHE_E_FILE, 0, "Cannot read '%.120s': %s.", path, strerror(errno));
    buffer all = {0};
    char block[65536];
    for (size_t got; (got = fread(block, 1, sizeof block, file)) > 0;) ti_buffer_add(&all, block, got);
    const int reason = ferror(file) ? errno : 0;
    fclose(file);
    ti_buffer_add(&all, "", 1); /* the byte more */

    tithe_status status;
    if (reason)
        status = ti_fail(error, TITHE_E_FILE, 0, "Cannot read '%.120s': %s.", path, strerror(reason));
    else if (all.failed)
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is no memory for the trace '%.100s'.", path);
    else
        status = parse_own(path, all.text, all.length - 1, trace, error);
    ti_buffer_free(&all);
    return status;
}
