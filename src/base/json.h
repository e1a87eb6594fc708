/* json.h - results as JSON, for whoever cannot read a struct: objects, lists, numbers and texts, one after the other. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Text that grows. All zero: empty. */
typedef struct json {
    char *text;
    size_t length, room;
    bool spoilt;  /* memory ran out: there will be no text */
    bool follows; /* something stands before, in the same object or list */
} json;

/* Each takes the key that it has in an object; NULL: it stands in a list, or alone. */
void ti_json_open(json *j, const char *key, char bracket); /* { or [ */
void ti_json_close(json *j, char bracket);                 /* } or ] */
void ti_json_number(json *j, const char *key,
                    double value); /* in as few digits as bring it back; not finite: null */
void ti_json_string(json *j, const char *key, const char *value); /* NULL: null */
void ti_json_bool(json *j, const char *key, bool value);

/* The text, which is the caller's to free; NULL: memory ran out. */
char *ti_json_done(json *j);

#endif
