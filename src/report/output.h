/* output.h - a whole file or none. */
#ifndef REPORT_OUTPUT_H
#define REPORT_OUTPUT_H

#include <stddef.h>

#include "tithe/status.h"

/* Writes beside the file and renames over it. Devices and pipes, where nothing can be renamed, get it straight. */
tithe_status ti_output_write(const char *path, const char *bytes, size_t size, tithe_error *error);

#endif
