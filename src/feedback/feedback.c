/* feedback.c - the table of the kinds of feedback. */
#include "feedback/kinds.h"

#include "base/family.h"

static const tithe_feedback *const feedbacks[] = {&ti_feedback_none, &ti_feedback_ec, &ti_feedback_ef21,
                                                  NULL};

const tithe_feedback *const *tithe_feedbacks(void)
{
    return feedbacks;
}

static family_row row(size_t i)
{
    return feedbacks[i] ? (family_row){feedbacks[i]->name, feedbacks[i]->params} : (family_row){0};
}

tithe_status tithe_feedback_find(const char *spec, const tithe_feedback **feedback, double *params,
                                 tithe_error *error)
{
    static const family all = {.what = "feedback", .row = row};
    size_t place;
    const tithe_status status = ti_family_find(&all, spec, &place, params, error);
    if (!status) *feedback = feedbacks[place];
    return status;
}
