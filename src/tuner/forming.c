/* forming.c - see forming.h. */
#include "tuner/forming.h"

#include <float.h>
#include <math.h>

static size_t next_length(const forming *f)
{
    return f->n - f->done < FORM_TOGETHER ? f->n - f->done : FORM_TOGETHER;
}

static void end_part(forming *f, size_t length)
{
    f->squares += ti_kernels()->keep(NULL, f->e + f->done, length);
    f->done += length;
}

size_t ti_forming_select(forming *f, select_job *job)
{
    const size_t first = f->done, length = next_length(f);
    bool finite = true;
    f->wrong |= f->late && !ti_late_look(f->late, f->g, first, length);
    if (f->wrong) return 0;
    job->source = (kernel_source){f->e + first, f->g + first, f->gamma};
    job->n = length;
    job->first = (uint32_t)first;
    const size_t count = ti_kernels()->select(job, &finite);
    f->wrong = !finite;
    end_part(f, length);
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
        end_part(f, length);
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
