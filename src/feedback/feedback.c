/* feedback.c - the table of the kinds of feedback. */
#include "feedback/kinds.h"

#include <string.h>

#include "base/status.h"

static const tithe_feedback *const feedbacks[] = {&ti_feedback_none, &ti_feedback_ec, &ti_feedback_ef21,
                                                  NULL};

const tithe_feedback *const *tithe_feedbacks(void)
{
    return feedbacks;
}

tithe_status tithe_feedback_find(const char *name, const tithe_feedback **feedback, tithe_error *error)
{
    for (size_t i = 0; feedbacks[i]; i++)
        if (strcmp(feedbacks[i]->name, name) == 0) {
            *feedback = feedbacks[i];
            return TITHE_OK;
        }
    return ti_fail(error, TITHE_E_SPEC, 0, "There is no feedback '%s': take one of none, ec, ef21.", name);
}
