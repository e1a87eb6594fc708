/* transport_fail.h - how a transport reports a failure. It lies in a library of its own, which is to need no more of libtithe
 * than somebody else's would: so not ti_fail, which is not public. */
#ifndef COMM_TRANSPORT_FAIL_H
#define COMM_TRANSPORT_FAIL_H

#include <stdarg.h>
#include <stdio.h>

#include "tithe/status.h"

__attribute__((format(printf, 4, 5))) static inline tithe_status transport_fail(tithe_error *error,
                                                                                tithe_status code,
                                                                                size_t position,
                                                                                const char *format, ...)
{
    if (error) {
        error->code = code;
        error->position = position;
        va_list args;
        va_start(args, format);
        vsnprintf(error->text, sizeof error->text, format, args);
        va_end(args);
    }
    return code;
}

#endif
