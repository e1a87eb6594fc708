/* inspect_trace.h - what tithe inspect says about a trace. */
#ifndef TITHE_CLI_INSPECT_TRACE_H
#define TITHE_CLI_INSPECT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does it begin as a trace does? A frame never does. */
bool inspect_is_trace(const uint8_t *data, size_t length);

/* The exit status; `json` as in cmd_inspect.c. */
int inspect_trace(const char *name, const uint8_t *data, size_t length, const char *json);

#endif
