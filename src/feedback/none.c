/* none.c - no feedback: what was not sent is lost. Right for unbiased codecs, whose errors average out. */
#include "feedback/kinds.h"

static const float *form(const tithe_feedback_call *c)
{
    return c->g;
}

static tithe_status encode(const tithe_feedback_call *c, bool formed, tithe_frame_info *info,
                           tithe_error *error)
{
    (void)formed;
    return tithe_encode(c->codec, c->call, c->g, c->n, c->frame, c->capacity, info, error);
}

const tithe_feedback ti_feedback_none = {
    .name = "none",
    .summary = "what was not sent is lost",
    .form = form,
    .encode = encode,
};
