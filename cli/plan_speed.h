/* plan_speed.h - how fast codecs are here: measured once, and kept. */
#ifndef TITHE_CLI_PLAN_SPEED_H
#define TITHE_CLI_PLAN_SPEED_H

#include "tithe/tithe.h"

tithe_status plan_speed(tithe_speed *speed, tithe_error *error);
/* Of the codec with this spec. */
tithe_status plan_speed_codec(tithe_plan_codec *codec, tithe_error *error);

#endif
