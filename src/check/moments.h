/* moments.h - the claims about the error: unbiased, second moment, contraction, absolute error. */
#ifndef CHECK_MOMENTS_H
#define CHECK_MOMENTS_H

#include "check/run.h"

tithe_status ti_check_moment_rows(check_run *run, check_output *out);

#endif
