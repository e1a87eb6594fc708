/* kernels_ref.c - the definition itself, for any machine. */
#include "kernels/define.h"

const kernels ti_kernels_ref = {
    .name = "ref",
    .runs_here = define_runs_anywhere,
    DEFINE_ALL,
};
