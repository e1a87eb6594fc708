/* forming.c - see forming.h. */
#include "tuner/forming.h"

#include <float.h>
#include <math.h>

static size_t next_length(const forming *f)
{
    return f->n - f->done < FORM_TOGETHER ? f->n - f->done : FORM_TOGETHER;
}

size_t ti_forming_select(forming *f, const select_job *asked)
{
    const size_t first = f->done;
    form_job job = {.select = *asked};
    bool finite = true;
    double sums[3];
    if (f->wrong) return 0;
    job.select.source = (kernel_source){f->e + first, f->g + first, f->gamma};
    job.select.n = next_length(f);
    job.select.first = (uint32_t)first;
    if (f->late) ti_late_join(f->late, first, &job);
    const size_t count = ti_kernels()->form(&job, sums, &finite);
    if (f->late && finite) ti_late_note(f->late, f->g, first, job.select.n, sums + 1);
    f->wrong = !finite;
    f->squares += sums[0];
    f->done += job.select.n;
    return count;
}

bool ti_forming_rest(forming *f)
{
    while (f->done < f->n && !f->wrong) {
        const size_t first = f->done, length = next_length(f);
        f->wrong = f->late ? !ti_late_look(f->late, f->g, first, length)
                           : ti_kernels()->find_nonfinite(f->g + first, length) < length;
        if (f->wrong) break;
        ti_kernels()->add_scaled(f->e + first, f->g + first, f->gamma, length);
        f->squares += ti_kernels()->keep(NULL, f->e + first, length);
        f->done += length;
    }
    return !f->wrong;
}

size_t ti_forming_bad(const forming *f)
{
    const size_t bad = ti_kernels()->find_nonfinite(f->g, f->n);
    if (bad < f->n) return bad;
    for (size_t i = 0; i < f->done; i++)
        if (!isfinite(f->gamma * f->g[i]) || fabsf(f->e[i]) == FLT_MAX) return i;
    return f->n;
}
