/* flags.c - see flags.h. */
#include "flags.h"

#include <stdbool.h>
#include <string.h>

#include "tithe/learn.h"

/* What is being written: it counts on where the room ends. */
typedef struct line {
    char *text;
    size_t room, used;
} line;

static void put(line *l, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++, l->used++)
        if (l->used + 1 < l->room) l->text[l->used] = bytes[i];
}

static size_t end(line *l)
{
    if (l->room) l->text[l->used < l->room ? l->used : l->room - 1] = 0;
    return l->used;
}

static bool is_plain(const char *word, size_t length)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    for (size_t i = 0; i < length; i++)
        if (!strchr(plain, word[i])) return false;
    return length > 0;
}

static void put_word(line *l, const char *word, size_t length)
{
    const bool plain = is_plain(word, length);
    if (!plain) put(l, "'", 1);
    for (size_t i = 0; i < length; i++)
        if (word[i] == '\'')
            put(l, "'\\''", 4);
        else
            put(l, word + i, 1);
    if (!plain) put(l, "'", 1);
}

/* Options of a run, or of the processes that it meets. */
static bool is_option(const char *name, size_t length)
{
    static const char *const beside[] = {"switch", "key", "trusted", "backend"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (strlen(beside[i]) == length && memcmp(beside[i], name, length) == 0) return true;
    for (const tithe_option *row = tithe_train_option_table(); row->name; row++)
        if (strlen(row->name) == length && memcmp(row->name, name, length) == 0) return true;
    return false;
}

/* "name" or "name=value". False: that is no option of a run, and nothing was written. */
static bool put_flag(line *l, const char *option, size_t length)
{
    const char *equals = memchr(option, '=', length);
    const size_t name = equals ? (size_t)(equals - option) : length;
    if (!is_option(option, name)) return false;
    put(l, "--", 2);
    put(l, option, name);
    if (equals) {
        put(l, " ", 1);
        put_word(l, equals + 1, length - name - 1);
    }
    return true;
}

void flags_say(const char *sentence, char *text, size_t room)
{
    line l = {text, room, 0};
    for (const char *open; (open = strchr(sentence, '`'));) {
        const char *close = strchr(open + 1, '`');
        put(&l, sentence, (size_t)(open - sentence));
        sentence = open;
        if (!close) break; /* a sentence that was cut off */
        if (!put_flag(&l, open + 1, (size_t)(close - open - 1))) put(&l, open, (size_t)(close - open + 1));
        sentence = close + 1;
    }
    put(&l, sentence, strlen(sentence));
    end(&l);
}

void flags_list(const char *options, char *text, size_t room)
{
    line l = {text, room, 0};
    while (*options) {
        const size_t length = strcspn(options, ";");
        if (l.used) put(&l, " ", 1);
        if (!put_flag(&l, options, length)) put_word(&l, options, length);
        options += length + (options[length] == ';');
    }
    end(&l);
}

size_t flags_quote(const char *word, size_t length, char *text, size_t room)
{
    line l = {text, room, 0};
    put_word(&l, word, length);
    return end(&l);
}
