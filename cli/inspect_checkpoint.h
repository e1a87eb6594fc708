/* inspect_checkpoint.h - what tithe inspect says about a checkpoint. */
#ifndef TITHE_CLI_INSPECT_CHECKPOINT_H
#define TITHE_CLI_INSPECT_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

/* The exit status; `json` as in cmd_inspect.c. */
int inspect_checkpoint(const char *name, const uint8_t *data, size_t length, const char *json);

#endif
