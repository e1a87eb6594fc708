/* parts.h - the files of web/ and Chart.js, which the build turns into arrays (tools/cmake/embed.cmake). */
#ifndef REPORT_PARTS_H
#define REPORT_PARTS_H

#include <stddef.h>

typedef struct web_part {
    const char *name; /* of the file, without its folder */
    const unsigned char *bytes;
    size_t size;
} web_part;

extern const web_part ti_web_parts[]; /* ends with a NULL name */

#endif
