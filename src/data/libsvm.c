/* libsvm.c - LIBSVM text: `label index:value index:value ...`, indices from 1 and ascending.
 *
 * Read in blocks that end at a line's end. A block of so many bytes cannot hold more than so many rows and values, so
 * room is made once per block and the inner loop looks at nothing but the text. Taken as well: comments after #,
 * blank lines, tabs, trailing blanks, CRLF, a qid: behind the label, a byte order mark. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "data/data.h"
#include "data/number.h"

enum { BLOCK = 1 << 20, SHOWN = 24 };
#define LONGEST_LINE ((size_t)1 << 31)

typedef struct parser {
    data_file *file;
    data_rows *d;
    tithe_error *error; /* never NULL */
    locale_t no_country;
    size_t line; /* from 1 */
    size_t highest;
} parser;

/* ---- what is wrong ------------------------------------------------------------------------------------------- */

/* The word at `p`, fit to be printed. */
static void show(const char *p, char word[SHOWN + 4])
{
    size_t n = 0;
    while (n < SHOWN && p[n] != '\n' && p[n] != '\r' && p[n] != ' ' && p[n] != '\t') n++;
    for (size_t i = 0; i < n; i++) word[i] = isprint((unsigned char)p[i]) ? p[i] : '?';
    snprintf(word + n, 4, "%s", n == SHOWN ? "..." : "");
    if (n == 0) snprintf(word, SHOWN + 4, "nothing");
}

static const char *refuse(const parser *s, const char *p, tithe_status code, const char *expected)
{
    char word[SHOWN + 4];
    show(p, word);
    ti_fail(s->error, code, s->line - 1, "%s, line %zu: %s, found %s.", ti_data_file_name(s->file), s->line,
            expected, word);
    return NULL;
}

/* No number at `p`: is it one of the two words that C would take for one? */
static bool is_not_finite(const char *p)
{
    p += *p == '-' || *p == '+';
    const char a = (char)(p[0] | 32);
    if (a != 'n' && a != 'i') return false;
    const char b = (char)(p[1] | 32);
    return (a == 'n' && b == 'a') || (a == 'i' && b == 'n');
}

static const char *refuse_number(const parser *s, const char *p, const char *what)
{
    char expected[64];
    if (is_not_finite(p)) {
        snprintf(expected, sizeof expected, "%s must be finite", what);
        return refuse(s, p, TITHE_E_NONFINITE, expected);
    }
    snprintf(expected, sizeof expected, "expected a number for %s", what);
    return refuse(s, p, TITHE_E_DATA, expected);
}

/* ---- a line --------------------------------------------------------------------------------------------------- */

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static inline bool ends_word(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '#';
}

static inline const char *skip_blanks(const char *p)
{
    while (is_blank(*p)) p++;
    return p;
}

static const char *skip_line(const char *p)
{
    while (*p != '\n') p++;
    return p;
}

static const char *read_label(const parser *s, const char *p, double *label)
{
    decimal number;
    const char *end = decimal_scan(p, &number);
    if (end && *end == ':')
        return refuse(s, p, TITHE_E_DATA, "expected a label before the first index:value");
    if (!end || !ends_word(*end)) return refuse_number(s, p, "the label");
    *label = decimal_double(&number, p, s->no_country);
    if (!isfinite(*label)) return refuse(s, p, TITHE_E_NONFINITE, "the label must be finite");
    end = skip_blanks(end);
    if (strncmp(end, "qid:", 4) == 0) /* compares nothing beyond the newline */
        while (!ends_word(*end)) end++;
    return end;
}

/* `index` was read but is no higher than the one before it. */
static const char *refuse_order(const parser *s, const char *p, size_t index, size_t previous)
{
    char expected[96];
    if (index == 0) return refuse(s, p, TITHE_E_DATA, "indices begin at 1");
    snprintf(expected, sizeof expected,
             index == previous ? "index %zu stands there twice"
                               : "expected an index above %zu, since they ascend",
             previous);
    return refuse(s, p, TITHE_E_DATA, expected);
}

static const char *read_values(parser *s, const char *p)
{
    data_rows *d = s->d;
    size_t at = d->count;
    size_t previous = 0;
    for (;;) {
        p = skip_blanks(p);
        if (*p == '\n') break;
        if (*p == '#') {
            p = skip_line(p);
            break;
        }
        const char *word = p;
        uint64_t index = 0;
        unsigned digit;
        for (; (digit = (unsigned)*p - '0') <= 9; p++)
            if (index <= TITHE_MAX_N) index = index * 10 + digit;
        if (p == word || *p != ':') return refuse(s, word, TITHE_E_DATA, "expected index:value");
        if (index > TITHE_MAX_N) return refuse(s, word, TITHE_E_RANGE, "an index is at most 4294967295");
        if (index <= previous) return refuse_order(s, word, (size_t)index, previous);
        previous = (size_t)index;

        decimal number;
        const char *text = ++p;
        p = decimal_scan(text, &number);
        if (!p || !ends_word(*p)) {
            char what[40];
            snprintf(what, sizeof what, "index %zu", previous);
            return refuse_number(s, text, what);
        }
        const float value = decimal_float(&number, text, s->no_country);
        if (!isfinite(value))
            return refuse(s, word, TITHE_E_RANGE, "the value is too large for a 32-bit float");
        d->indices[at] = (uint32_t)(index - 1);
        d->values[at++] = value;
    }
    d->count = at;
    if (previous > s->highest) s->highest = previous;
    return p;
}

/* Lines of text[0, size), the last of which ends there. */
static tithe_status parse(parser *s, const char *text, size_t size)
{
    /* "1\n" is the shortest row and "1:1 " the shortest value. */
    const tithe_status status = ti_data_reserve(s->d, size / 2 + 1, size / 4 + 1, s->error);
    if (status) return status;
    data_rows *d = s->d;
    for (const char *p = text, *end = text + size; p < end; p++) {
        s->line++;
        p = skip_blanks(p);
        if (*p == '#') p = skip_line(p);
        if (*p == '\n') continue;
        p = read_label(s, p, &d->labels[d->rows]);
        if (p) p = read_values(s, p);
        if (!p) return s->error->code;
        d->offsets[++d->rows] = d->count;
    }
    if (d->rows > UINT32_MAX)
        return ti_fail(s->error, TITHE_E_RANGE, s->line,
                       "%s has more than 4294967295 rows, which is too many.", ti_data_file_name(s->file));
    return TITHE_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

static size_t whole_lines(const char *text, size_t size)
{
    while (size && text[size - 1] != '\n') size--;
    return size;
}

/* Read and parse until the end; *buffer may move. */
static tithe_status run(parser *s, char **buffer, size_t room)
{
    size_t held = 0;
    for (bool first = true, more = true; more; first = false) {
        size_t got;
        /* Two places are left free: for a newline at the end, and for the NUL that strtod may want to see. */
        const size_t free_room = room - 2 - held;
        const tithe_status status = ti_data_file_read(s->file, *buffer + held, free_room, &got, s->error);
        if (status) return status;
        more = got == free_room;
        held += got;
        if (!more && held && (*buffer)[held - 1] != '\n') (*buffer)[held++] = '\n';
        (*buffer)[held] = 0;
        const size_t skip = first && held >= 3 && memcmp(*buffer, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        const size_t size = whole_lines(*buffer, held);
        if (size > skip) {
            const tithe_status parsed = parse(s, *buffer + skip, size - skip);
            if (parsed) return parsed;
        }
        held -= size;
        memmove(*buffer, *buffer + size, held);
        if (more && size == 0) { /* one line fills the buffer */
            const tithe_status fits = ti_data_expect_memory(s->d, 2 * (uint64_t)room, s->error);
            if (fits) return fits;
            char *larger = room < LONGEST_LINE ? realloc(*buffer, 2 * room) : NULL;
            if (!larger)
                return ti_fail(s->error, TITHE_E_DATA, s->line,
                               "%s, line %zu: the line is too long to be held.", ti_data_file_name(s->file),
                               s->line + 1);
            *buffer = larger;
            room *= 2;
        }
    }
    return TITHE_OK;
}

tithe_status ti_data_read_libsvm(data_file *file, data_rows *d, tithe_error *error)
{
    tithe_error local = {0}; /* the parser asks it for the status */
    parser s = {
        .file = file, .d = d, .error = &local, .no_country = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    char *buffer = malloc(BLOCK);
    tithe_status status = buffer ? run(&s, &buffer, BLOCK)
                                 : ti_fail(&local, TITHE_E_MEMORY, 0,
                                           "There is not enough memory to read %s.", ti_data_file_name(file));
    free(buffer);
    if (s.no_country) freelocale(s.no_country);
    d->features = s.highest;
    if (!status && d->rows == 0)
        status = ti_fail(&local, TITHE_E_DATA, 0, "%s has no rows: expected lines such as \"+1 3:0.5 7:1\".",
                         ti_data_file_name(file));
    if (status && error) *error = local;
    return status;
}
