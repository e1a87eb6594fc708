/* setup.h - the numbers that a run starts from. */
#ifndef LEARN_SETUP_H
#define LEARN_SETUP_H

#include "learn/run.h"

/* L, the penalty, f* and what is known at the minimum, as far as the run needs them, into the run. `all` is the whole data
 * set, before it was split; matters in the process of rank 0 only. */
tithe_status ti_run_set_up(run *r, const tithe_data *all, tithe_error *error);

#endif
