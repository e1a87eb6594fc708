/* description.h - what something is, as text: lines "key: value" that processes compare and files keep.
 *
 * A row "key contents" beside a row "key" says what a file holds that the value names: where both sides have the same
 * contents, the names may differ. */
#ifndef BASE_DESCRIPTION_H
#define BASE_DESCRIPTION_H

#include <stdbool.h>
#include <stddef.h>

/* Text that grows. All zero: empty. */
typedef struct description {
    char *text; /* NULL: empty, or memory ran out */
    size_t length, room;
    bool spoilt; /* memory ran out: what was added since is lost */
} description;

/* What would end a line, or stir a terminal, becomes a blank. */
__attribute__((format(printf, 3, 4))) void ti_description_add(description *d, const char *key,
                                                              const char *format, ...);
/* All rows of a text; NULL has none. */
void ti_description_append(description *d, const char *text);
void ti_description_free(description *d);

/* A row of a text; neither piece ends with a NUL. */
typedef struct description_row {
    const char *key, *value;
    size_t key_length, value_length;
} description_row;

/* The row at *text, which then stands behind it. False: there is none, or what stands there is no row. */
bool ti_description_next(const char **text, description_row *row);
bool ti_description_find(const char *text, const char *key, description_row *row);
bool ti_description_is(const description_row *row, const char *key);
/* The value with a NUL behind it; cut where the room ends, which *fits then says (NULL: not wanted). */
void ti_description_copy(const description_row *row, char *value, size_t room, bool *fits);

void ti_description_add_row(description *d, const description_row *row);

/* Where two texts differ first, with as much of the values as a sentence can take; "(not given)" where a row is missing. */
typedef struct description_difference {
    char key[40], first[64], second[64];
} description_difference;
/* False: nowhere. `counts` picks the keys that are compared; NULL: all are. */
bool ti_description_differ(const char *first, const char *second, bool (*counts)(const char *key),
                           description_difference *difference);

#endif
