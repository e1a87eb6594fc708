/* text.c - see text.h. */
#define _XOPEN_SOURCE 700
#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flags.h"

/* The one verb that this process runs: set before any thread starts, never changed afterwards. */
static const char *current_verb;
static char current_place[256]; /* "file:line: ", or nothing */
static text_voice *current_voice;

void text_set_verb(const char *verb)
{
    current_verb = verb;
}

const char *text_verb(void)
{
    return current_verb;
}

void text_set_place(const char *file, int line)
{
    current_place[0] = 0;
    if (file) snprintf(current_place, sizeof current_place, "%.200s:%d: ", file, line);
}

void text_speak_through(text_voice *voice)
{
    current_voice = voice;
}

static void print_line(const char *line)
{
    text_progress_end();
    fflush(stdout);
    if (current_verb)
        fprintf(stderr, "tithe %s: %s\n", current_verb, line);
    else
        fprintf(stderr, "tithe: %s\n", line);
}

void text_say(const text_voice *voice)
{
    const char *line = *voice->own.line ? voice->own.line : voice->heard.line;
    if (*line) print_line(line);
}

/* `heard`: of another process. */
static void complain(bool heard, const char *what)
{
    char line[sizeof current_voice->own.line] = "";
    snprintf(line, sizeof line - 1, "%s%s", current_place, what);

    /* The library's sentences end with a full stop, or ask; those of strerror do not. */
    const size_t length = strlen(line);
    if (length && !strchr(".?", line[length - 1])) memcpy(line + length, ".", 2);

    /* A file name may hold a newline; the complaint stays one line. */
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127) *c = '?';

    if (!current_voice)
        print_line(line);
    else if (heard && !atomic_flag_test_and_set(&current_voice->heard.taken))
        memcpy(current_voice->heard.line, line, sizeof line);
    else if (!heard && !atomic_flag_test_and_set(&current_voice->own.taken))
        memcpy(current_voice->own.line, line, sizeof line);
}

int text_fail(const char *format, ...)
{
    char what[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    complain(false, what);
    return EXIT_BAD;
}

int text_fail_status(const char *about, tithe_status status, const tithe_error *error)
{
    char sentence[2 * sizeof error->text], what[1024]; /* with quotes that its options may need */
    flags_say(error && error->text[0] ? error->text : tithe_status_text(status), sentence, sizeof sentence);
    snprintf(what, sizeof what, "%s%s%s", about ? about : "", about ? ": " : "", sentence);
    complain(status == TITHE_E_PEER || status == TITHE_E_TIMEOUT, what);
    return EXIT_BAD;
}

text_number text_group(uint64_t value)
{
    char digits[24];
    const int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    text_number out;
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) out.text[at++] = ',';
        out.text[at++] = digits[i];
    }
    out.text[at] = 0;
    return out;
}

text_number text_short(double value)
{
    text_number out;
    if (isfinite(value))
        snprintf(out.text, sizeof out.text, "%.5g", value);
    else
        snprintf(out.text, sizeof out.text, isnan(value) ? "-" : value > 0 ? "inf" : "-inf");
    return out;
}

text_number text_bytes(double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    text_number out;
    size_t unit = 0;
    for (; bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++) bytes /= 1000;
    snprintf(out.text, sizeof out.text, "%.3g %s", bytes, units[unit]);
    return out;
}

text_line text_smaller(size_t bytes, size_t dense)
{
    text_line out;
    const double times = bytes > 0 ? (double)dense / (double)bytes : 0;
    text_number number = text_group((uint64_t)(times + 0.5));
    if (times < 100) snprintf(number.text, sizeof number.text, "%.1f", times);
    if (times < 1.05) snprintf(number.text, sizeof number.text, "not");
    snprintf(out.text, sizeof out.text, "%s%s smaller than the dense vector of %s bytes", number.text,
             times < 1.05 ? "" : " x", text_group(dense).text);
    return out;
}

/* Levenshtein's distance with one row of memory. Words longer than the row are far from everything. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    const size_t rows = strlen(a), columns = strlen(b);
    if (rows > LONGEST || columns > LONGEST) return LONGEST + 1;

    size_t row[LONGEST + 1];
    for (size_t j = 0; j <= columns; j++) row[j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            const size_t above = row[j];
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (above + 1 < best) best = above + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[columns];
}

const char *text_nearest(const char *word, const char *const *words)
{
    const char *best = NULL;
    size_t min = SIZE_MAX;
    for (; *words; words++) {
        const size_t d = distance(word, *words);
        if (d < min) {
            min = d;
            best = *words;
        }
    }
    return best;
}

void text_wrap(FILE *to, size_t column, size_t indent, const char *words)
{
    bool first = true;
    while (*words) {
        const size_t length = strcspn(words, " ");
        if (!first && column + 1 + length > TEXT_WIDTH) {
            fprintf(to, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', to);
            column++;
        }
        fwrite(words, 1, length, to);
        column += length;
        first = false;
        words += length;
        words += strspn(words, " ");
    }
    fputc('\n', to);
}

const text_trait text_traits[] = {
    {TITHE_UNBIASED, "unbiased"}, {TITHE_CONTRACTIVE, "contractive"}, {TITHE_ABSOLUTE, "absolute"},
    {TITHE_SUMMABLE, "summable"}, {TITHE_FIXED_SIZE, "fixed-size"},   {0, NULL},
};

text_line text_trait_list(unsigned traits)
{
    text_line out;
    size_t at = 0;
    out.text[0] = 0;
    for (const text_trait *t = text_traits; t->name; t++)
        if (traits & t->bit)
            at += (size_t)snprintf(out.text + at, sizeof out.text - at, "%s%s", at ? ", " : "", t->name);
    if (!at) snprintf(out.text, sizeof out.text, "none");
    return out;
}

static bool progress_shown;

void text_progress(const char *format, ...)
{
    if (!isatty(STDERR_FILENO)) return;
    va_list arguments;
    va_start(arguments, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fflush(stderr);
    progress_shown = true;
}

void text_progress_end(void)
{
    if (!progress_shown) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress_shown = false;
}

void *text_memory(size_t size)
{
    void *memory = malloc(size ? size : 1);
    if (!memory) exit(text_fail("There is no memory left for %zu bytes", size));
    return memory;
}

char *text_copy(const char *text)
{
    const size_t size = strlen(text) + 1;
    return memcpy(text_memory(size), text, size);
}
