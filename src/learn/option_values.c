/* option_values.c - the options of a run, by their names. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "learn/run_options.h"

const tithe_option *ti_option_find(const char *name)
{
    return ti_option_in(tithe_train_option_table(), name);
}

tithe_status tithe_train_options_set(tithe_train_options *options, const char *name, const char *text,
                                     tithe_error *error)
{
    if (!options || !name) return ti_fail(error, TITHE_E_ARGUMENT, 0, "Options and a name are needed.");
    const tithe_option *row = ti_option_find(name);
    if (!row) return ti_fail(error, TITHE_E_ARGUMENT, 0, "A run has no option '%.80s'.", name);
    return ti_option_read(options, row, text, error);
}

bool tithe_train_options_get(const tithe_train_options *options, const char *name, char *text, size_t room)
{
    char own[OPTION_ROOM];
    const tithe_option *row = options && name ? ti_option_find(name) : NULL;
    const char *value = row ? ti_option_write(options, row, own) : NULL;
    if (value && room) snprintf(text, room, "%s", value);
    return value != NULL;
}

tithe_train_options tithe_train_defaults(void)
{
    tithe_train_options o = {0};
    ti_options_clear(&o, tithe_train_option_table());
    return o;
}
