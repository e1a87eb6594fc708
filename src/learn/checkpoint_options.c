/* checkpoint_options.c - the options that a checkpoint states: to go on with them, and to compare them with those of the run that
 * wants to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "learn/checkpoint.h"
#include "learn/checkpoint_text.h"
#include "learn/run_description.h"
#include "learn/run_options.h"

/* "sampling contents": no option, but what is in the file that one names. */
static bool is_contents(const description_row *row)
{
    static const char end[] = " contents";
    const size_t length = sizeof end - 1;
    return row->key_length > length && memcmp(row->key + row->key_length - length, end, length) == 0;
}

/* ---- version 2 ------------------------------------------------------------------------------------------- */

static bool says(const char *text, const char *key, const char *value)
{
    description_row row;
    return ti_description_find(text, key, &row) && strlen(value) == row.value_length &&
           memcmp(row.value, value, row.value_length) == 0;
}

/* It named two options otherwise, gave buckets in bytes alone, and had a row where there was nothing to say. */
static const char *modern(const char *text, const char **key, const char *value)
{
    char layers[24];
    snprintf(layers, sizeof layers, "%zu", TITHE_EACH_LAYER);
    if (strcmp(*key, "local steps") == 0) *key = "local-steps";
    if (strcmp(*key, "downlink feedback") == 0) *key = "downlink-feedback";
    if (strcmp(*key, "leader") == 0 && !says(text, "scheme", "artopk")) return NULL;
    if (strcmp(*key, "downlink") == 0 && strcmp(value, "all|raw") == 0) return NULL;
    if (strcmp(*key, "bucket") == 0 && strcmp(value, "0") == 0) return "off";
    if (strcmp(*key, "bucket") == 0 && strcmp(value, layers) == 0) return "layer";
    return value;
}

/* ---- from the text --------------------------------------------------------------------------------------- */

static tithe_status take(const char *path, const checkpoint_head *h, const char *key, const char *value,
                         tithe_train_options *o, tithe_error *error)
{
    const bool old = h->version == CHECKPOINT_OLDEST;
    if (old) value = modern(h->text, &key, value);
    if (!value) return TITHE_OK;
    tithe_error why = {0};
    const tithe_option *row = ti_option_find(key);
    if (!row || !(row->flags & TITHE_OPTION_SAVED))
        return ti_fail(error, TITHE_E_MISMATCH, 0,
                       "'%.80s' says '%.40s: %.60s', which means nothing to this Tithe.", path, key, value);
    if (!ti_option_read(o, row, value, &why)) return TITHE_OK;
    return ti_fail(error, TITHE_E_CORRUPT, 0, "'%.60s' cannot be: %.160s", path, why.text);
}

tithe_status ti_checkpoint_options(const char *path, const checkpoint_head *h, tithe_train_options *o,
                                   char **texts, tithe_error *error)
{
    char *copy = malloc(sizeof h->text);
    if (!copy) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to resume.");
    memcpy(copy, h->text, sizeof h->text);
    o->workers = h->workers; /* of old files the head alone says these two */
    o->seed = h->seed;
    tithe_status status = TITHE_OK;
    description_row row;
    for (const char *at = copy; !status && ti_description_next(&at, &row);) {
        char *key = copy + (row.key - copy), *value = copy + (row.value - copy);
        if (is_contents(&row)) continue;
        key[row.key_length] = value[row.value_length] = 0;
        status = take(path, h, key, value, o, error);
    }
    if (o->clients >= o->workers) o->clients = 0; /* old files name all of them */
    if (status)
        free(copy);
    else
        *texts = copy;
    return status;
}

/* ---- resuming -------------------------------------------------------------------------------------------- */

static bool states_end(const tithe_train_options *o)
{
    char room[OPTION_ROOM];
    for (const tithe_option *row = tithe_train_option_table(); row->name; row++)
        if (row->flags & TITHE_OPTION_ENDS && ti_option_write(o, row, room)) return true;
    return false;
}

/* The end that was asked for, not that of the part before: all of it. */
static void keep_end(const tithe_train_options *from, tithe_train_options *to)
{
    for (const tithe_option *row = tithe_train_option_table(); row->name; row++)
        if (row->flags & TITHE_OPTION_ENDS)
            memcpy((char *)to + row->place, (const char *)from + row->place, row->size);
}

tithe_status tithe_train_options_resume(tithe_train_options *options, const char *path, char **texts,
                                        tithe_error *error)
{
    if (!path || !texts)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A path and a place for texts are needed.");
    tithe_train_options given, taken;
    tithe_status status = ti_train_options_take(options, &given, error);
    if (status) return status;
    checkpoint_file file = {0};
    checkpoint_head head;
    status = ti_checkpoint_open(path, &file, &head, error);
    ti_checkpoint_close(&file);
    if (status) return status;
    taken = given;
    for (const tithe_option *row = tithe_train_option_table(); row->name; row++)
        if (row->flags & TITHE_OPTION_SAVED) ti_option_clear(&taken, row);
    status = ti_checkpoint_options(path, &head, &taken, texts, error);
    if (status) return status;
    if (states_end(&given)) keep_end(&given, &taken);
    sized_copy(options, &taken);
    return TITHE_OK;
}

double ti_checkpoint_l2(const run *r)
{
    const checkpoint_head *h = r->file.resumed;
    description_row row;
    const bool known =
        h && (ti_description_find(h->text, "l2 contents", &row) || ti_description_find(h->text, "l2", &row));
    return known ? strtod(row.value, NULL) : NAN;
}

/* ---- is it this run? ------------------------------------------------------------------------------------- */

static bool has_to_stay(const char *key)
{
    const tithe_option *row = ti_option_find(key);
    return !row || !(row->flags & TITHE_OPTION_CHANGES);
}

/* In the words of today, whatever they were; what the head has as numbers goes ahead, since most mistakes show there. */
static tithe_status restate(const char *path, const checkpoint_head *h, bool files, description *d,
                            tithe_error *error)
{
    tithe_train_options o = {.size = sizeof o};
    tithe_train_defaults(&o);
    char *texts = NULL;
    const tithe_status status = ti_checkpoint_options(path, h, &o, &texts, error);
    if (status) return status;
    description_row row;
    if (ti_description_find(h->text, "l2 contents", &row)) o.l2 = strtod(row.value, NULL); /* given or not */
    ti_description_add(d, "workers", "%lu", (unsigned long)h->workers);
    ti_description_add(d, "seed", "%llu", (unsigned long long)h->seed);
    ti_describe_options(&o, TITHE_OPTION_SAVED, DESCRIBE_ALL, d);
    for (const char *at = h->text; files && ti_description_next(&at, &row);)
        if (is_contents(&row) && !ti_description_is(&row, "l2 contents")) ti_description_add_row(d, &row);
    ti_description_add(d, "data contents", "%016llx", (unsigned long long)h->data);
    ti_description_add(d, "n", "%llu", (unsigned long long)h->n);
    /* under a tuner that steers that depends on the setting */
    if (!(h->parts & PART_STEERED))
        ti_description_add(d, "what the scheme learned", "%llu", (unsigned long long)h->learned);
    ti_description_add(d, "what is kept", "%lu", (unsigned long)(h->parts & ~(uint32_t)PART_LOWEST));
    free(texts);
    return TITHE_OK;
}

static tithe_status compare(const char *path, const description *there, const description *here,
                            bool (*counts)(const char *), tithe_error *error)
{
    description_difference d;
    if (there->spoilt || here->spoilt)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to resume.");
    if (!ti_description_differ(there->text, here->text, counts, &d)) return TITHE_OK;
    return ti_fail(error, TITHE_E_MISMATCH, 0, "'%.60s' is of another run: %s is %s there, and %s here.",
                   path, d.key, d.first, d.second);
}

/* Before there is data or an exchange. */
static bool is_known_early(const char *key)
{
    const tithe_option *row = ti_option_find(key);
    return row && !(row->flags & (TITHE_OPTION_CHANGES | TITHE_OPTION_LATER));
}

tithe_status ti_checkpoint_compare_early(const run *r, const checkpoint_head *theirs, tithe_error *error)
{
    const tithe_train_options mine = ti_run_resolved(r);
    description there = {0}, here = {0};
    tithe_status status = restate(r->o->resume, theirs, false, &there, error);
    ti_describe_options(&mine, TITHE_OPTION_SAVED, DESCRIBE_ALL, &here);
    if (!status) status = compare(r->o->resume, &there, &here, is_known_early, error);
    ti_description_free(&there);
    ti_description_free(&here);
    return status;
}

tithe_status ti_checkpoint_compare(const run *r, const checkpoint_head *theirs, tithe_error *error)
{
    const char *path = r->o->resume;
    const bool files = theirs->version > CHECKPOINT_OLDEST; /* those do not say what is in them */
    checkpoint_head mine;
    description there = {0}, here = {0};
    ti_checkpoint_describe(r, &mine);
    tithe_status status = restate(path, theirs, files, &there, error);
    if (!status) status = restate(path, &mine, files, &here, error);
    if (!status) status = compare(path, &there, &here, has_to_stay, error);
    ti_description_free(&there);
    ti_description_free(&here);
    return status;
}
