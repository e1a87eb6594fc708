/* option_values.c - the options of a run, by their names. */
#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "learn/run_options.h"

const tithe_option *ti_option_find(const char *name)
{
    return ti_option_in(tithe_train_option_table(), name);
}

/* NULL also where the struct of a program with an older header ends before it. */
static const tithe_option *option_of(const tithe_train_options *options, const char *name)
{
    const tithe_option *row = ti_option_find(name);
    return row && row->place + row->size <= options->size ? row : NULL;
}

tithe_status tithe_train_options_set(tithe_train_options *options, const char *name, const char *text,
                                     tithe_error *error)
{
    if (!options || !name) return ti_fail(error, TITHE_E_ARGUMENT, 0, "Options and a name are needed.");
    const tithe_option *row = option_of(options, name);
    if (!row) return ti_fail(error, TITHE_E_ARGUMENT, 0, "A run has no option '%.80s'.", name);
    return ti_option_read(options, row, text, error);
}

bool tithe_train_options_get(const tithe_train_options *options, const char *name, char *text, size_t room)
{
    char own[OPTION_ROOM];
    const tithe_option *row = options && name ? option_of(options, name) : NULL;
    const char *value = row ? ti_option_write(options, row, own) : NULL;
    if (value && room) snprintf(text, room, "%s", value);
    return value != NULL;
}

void tithe_train_defaults(tithe_train_options *options)
{
    tithe_train_options o = {.size = sizeof o};
    ti_options_clear(&o, tithe_train_option_table());
    sized_copy(options, &o);
}

tithe_status ti_train_options_take(const tithe_train_options *options, tithe_train_options *o,
                                   tithe_error *error)
{
    if (!options || options->size < sizeof options->size)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "Options with their size in `size` are needed.");
    *o = (tithe_train_options){.size = sizeof *o};
    tithe_train_defaults(o);
    sized_copy(o, options);
    return TITHE_OK;
}
