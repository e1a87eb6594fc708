/* json.c - see json.h. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(json *j, const char *piece, size_t length)
{
    if (j->length + length >= j->room && !j->spoilt) {
        const size_t room = 2 * j->room + length + 256;
        char *text = realloc(j->text, room);
        j->spoilt = !text;
        if (text) j->text = text;
        if (text) j->room = room;
    }
    if (j->spoilt) return;
    memcpy(j->text + j->length, piece, length);
    j->length += length;
    j->text[j->length] = 0;
}

static void add_word(json *j, const char *word)
{
    add(j, word, strlen(word));
}

/* What would end the string, or is no letter, is escaped. */
static void add_string(json *j, const char *text)
{
    add_word(j, "\"");
    for (const char *c = text; *c; c++) {
        char code[8];
        if (*c == '"' || *c == '\\')
            snprintf(code, sizeof code, "\\%c", *c);
        else if ((unsigned char)*c < 32)
            snprintf(code, sizeof code, "\\u%04x", (unsigned)*c);
        else
            snprintf(code, sizeof code, "%c", *c);
        add_word(j, code);
    }
    add_word(j, "\"");
}

static void begin(json *j, const char *key)
{
    if (j->follows) add_word(j, ", ");
    j->follows = true;
    if (!key) return;
    add_string(j, key);
    add_word(j, ": ");
}

void ti_json_open(json *j, const char *key, char bracket)
{
    begin(j, key);
    add(j, &bracket, 1);
    j->follows = false;
}

void ti_json_close(json *j, char bracket)
{
    add(j, &bracket, 1);
    j->follows = true;
}

void ti_json_number(json *j, const char *key, double value)
{
    char digits[32] = "null";
    begin(j, key);
    for (int d = 15; d <= 17 && isfinite(value); d++) {
        snprintf(digits, sizeof digits, "%.*g", d, value);
        if (strtod(digits, NULL) == value) break;
    }
    add_word(j, digits);
}

void ti_json_string(json *j, const char *key, const char *value)
{
    begin(j, key);
    if (value)
        add_string(j, value);
    else
        add_word(j, "null");
}

void ti_json_bool(json *j, const char *key, bool value)
{
    begin(j, key);
    add_word(j, value ? "true" : "false");
}

char *ti_json_done(json *j)
{
    char *text = j->text;
    if (j->spoilt) free(text);
    if (j->spoilt) text = NULL;
    *j = (json){0};
    return text;
}
