/* switches.h - libtithe_switch, which is loaded when a switch is asked for. */
#ifndef TITHE_CLI_SWITCHES_H
#define TITHE_CLI_SWITCHES_H

#include <stdbool.h>

#include "tithe/switch.h"

typedef struct switch_library {
    tithe_status (*serve)(const tithe_switch_options *options, tithe_switch_counts *counts,
                          tithe_error *error);
    tithe_status (*attach)(tithe_comm *comm, const tithe_switch_options *options, tithe_error *error);
    const char *(*reason)(unsigned number);
    tithe_status (*bench)(void (*report)(void *context, const tithe_switch_row *row), void *context,
                          tithe_error *error);
} switch_library;

/* False: it cannot be loaded, and that was said. */
bool switch_load(switch_library *library);

#endif
