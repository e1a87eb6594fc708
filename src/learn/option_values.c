/* option_values.c - the options of a run, by their names. */
#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "base/spec.h"
#include "base/status.h"
#include "codec/codec.h"
#include "learn/run_options.h"

const tithe_option *ti_option_find(const char *name)
{
    return ti_option_in(tithe_train_option_table(), name);
}

/* NULL also where the struct of a program with an older header ends before it. */
static const tithe_option *option_of(const tithe_train_options *options, const char *name)
{
    const tithe_option *row = ti_option_find(name);
    return row && row->place + row->size <= options->size ? row : NULL;
}

tithe_status tithe_train_options_set(tithe_train_options *options, const char *name, const char *text,
                                     tithe_error *error)
{
    if (!options || !name) return ti_fail(error, TITHE_E_ARGUMENT, 0, "Options and a name are needed.");
    const tithe_option *row = option_of(options, name);
    if (!row) return ti_fail(error, TITHE_E_ARGUMENT, 0, "A run has no option '%.80s'.", name);
    return ti_option_read(options, row, text, error);
}

bool tithe_train_options_get(const tithe_train_options *options, const char *name, char *text, size_t room)
{
    char own[OPTION_ROOM];
    const tithe_option *row = options && name ? option_of(options, name) : NULL;
    const char *value = row ? ti_option_write(options, row, own) : NULL;
    if (value && room) snprintf(text, room, "%s", value);
    return value != NULL;
}

void tithe_train_defaults(tithe_train_options *options)
{
    tithe_train_options o = {.size = sizeof o};
    ti_options_clear(&o, tithe_train_option_table());
    sized_copy(options, &o);
}

/* Was nothing said of how messages are made? */
static bool leaves_messages_open(const tithe_train_options *o)
{
    return !o->codec && !o->scheme && !o->collective && !o->feedback && !o->downlink_feedback && !o->leader;
}

/* Or something that auto decides itself, or does not go with it? */
static bool decides_by_hand(const tithe_train_options *o)
{
    const tithe_feedback *feedback;
    const bool late =
        !o->feedback || (!strchr(o->feedback, ':') &&
                         !tithe_feedback_find(o->feedback, &feedback, NULL, NULL) && feedback->scaled);
    return o->deterministic || o->clients || o->shared_level || o->cost || o->downlink || o->leader || !late;
}

/* Where there is a link, and no level is given, it is worth a look. */
static void default_tuner(tithe_train_options *o)
{
    const bool linked = o->network || (o->comm && tithe_comm_size(o->comm) > tithe_comm_local_ranks(o->comm));
    if (o->tuner || o->resume || !linked || decides_by_hand(o)) return;
    tithe_codec *codec = NULL;
    const tithe_codec_options open = {.open_level = true};
    if (o->codec && tithe_codec_create(o->codec, &open, &codec, NULL)) return; /* which is said later */
    const bool open_share = codec && !codec->has_level && ti_spec_find(codec->selector->params, "keep") >= 0;
    if (codec ? open_share : leaves_messages_open(o)) o->tuner = "auto";
    tithe_codec_free(codec);
}

tithe_status ti_train_options_take(const tithe_train_options *options, tithe_train_options *o,
                                   tithe_error *error)
{
    if (!options || options->size < sizeof options->size)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "Options with their size in `size` are needed.");
    *o = (tithe_train_options){.size = sizeof *o};
    tithe_train_defaults(o);
    sized_copy(o, options);
    default_tuner(o);
    return TITHE_OK;
}
