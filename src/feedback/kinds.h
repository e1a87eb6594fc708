/* kinds.h - the kinds of feedback. */
#ifndef FEEDBACK_KINDS_H
#define FEEDBACK_KINDS_H

#include "tithe/feedback.h"

extern const tithe_feedback ti_feedback_none, ti_feedback_ec, ti_feedback_ef21;

#endif
