/* status.h - how library code reports a failure: `return ti_fail(error, TITHE_E_..., position, "One
 * sentence.")`. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include "tithe/status.h"

__attribute__((format(printf, 4, 5))) tithe_status ti_fail(tithe_error *error, tithe_status code,
                                                           size_t position, const char *format, ...);

#endif
