/* options.h - the values of options, by their table. `o` is the struct that the places of the rows are in. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "tithe/options.h"
#include "tithe/status.h"

/* Where a row finds its value: before this is used, OPTIONS names the struct. */
#define OPTION_PLACE(field) .place = offsetof(OPTIONS, field), .size = sizeof(((OPTIONS *)0)->field)

/* NULL: there is none of that name. */
const tithe_option *ti_option_in(const tithe_option *table, const char *name);

/* The value as text that ti_option_read takes: a pointer to it, in `room` or elsewhere. NULL: it is not given. */
enum { OPTION_ROOM = 40 };
const char *ti_option_write(const void *o, const tithe_option *row, char room[static OPTION_ROOM]);
/* Texts are not copied. Of a flag yes or no; NULL is yes. */
tithe_status ti_option_read(void *o, const tithe_option *row, const char *text, tithe_error *error);
/* As if it had not been given. */
void ti_option_clear(void *o, const tithe_option *row);

/* All rows: as if none had been given; and the texts that were not given, where the table knows what they are. */
void ti_options_clear(void *o, const tithe_option *table);
void ti_options_complete(void *o, const tithe_option *table);

#endif
