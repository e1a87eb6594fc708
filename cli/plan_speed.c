/* plan_speed.c - see plan_speed.h. Two files in the folder of caches: one for top-k, and one with a line for each codec. */
#include "plan_speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "text.h"

enum { MAX_PATH = 1024, MAX_LINE = 300 };

static bool cache_path(const char *what, char *path)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (cache && *cache)
        length = snprintf(path, MAX_PATH, "%s/tithe", cache);
    else if (home && *home)
        length = snprintf(path, MAX_PATH, "%s/.cache/tithe", home);
    if (length < 0 || length >= MAX_PATH - 64) return false;
    *strrchr(path, '/') = 0; /* the folder of all caches, then ours; whoever cannot write has none */
    mkdir(path, 0700);
    path[strlen(path)] = '/';
    mkdir(path, 0700);
    snprintf(path + length, MAX_PATH - (size_t)length, "/%s-speed-%s-%s", what, tithe_version(),
             tithe_kernels_name());
    return true;
}

static bool is_speed(double seconds)
{
    return seconds >= 0 && seconds < 1;
}

/* ---- top-k --------------------------------------------------------------------------------------------------------- */

static bool read_speed(const char *path, tithe_speed *s)
{
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const bool fine = fscanf(file, "%lf %lf %lf %lf", &s->encode_value, &s->encode_entry, &s->decode_entry,
                             &s->form_value) == 4;
    fclose(file);
    return fine && is_speed(s->encode_value) && is_speed(s->encode_entry) && is_speed(s->decode_entry) &&
           is_speed(s->form_value);
}

static tithe_status measure(tithe_speed *s, tithe_error *error)
{
    text_progress("measuring how fast codecs are here");
    const tithe_status status = tithe_speed_measure(s, error);
    text_progress_end();
    return status;
}

tithe_status plan_speed(tithe_speed *s, tithe_error *error)
{
    char path[MAX_PATH];
    const bool cached = cache_path("step", path);
    if (cached && read_speed(path, s)) return TITHE_OK;
    const tithe_status status = measure(s, error);
    FILE *file = status || !cached ? NULL : fopen(path, "w");
    if (!file) return status;
    fprintf(file, "%.9g %.9g %.9g %.9g\n", s->encode_value, s->encode_entry, s->decode_entry, s->form_value);
    fclose(file);
    return TITHE_OK;
}

/* ---- codecs that are named ------------------------------------------------------------------------------------------- */

/* Lines of both times and the spec. */
static bool read_codec(const char *path, tithe_plan_codec *c)
{
    char line[MAX_LINE];
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file)) {
        int spec = 0;
        line[strcspn(line, "\n")] = 0;
        found = sscanf(line, "%lf %lf %n", &c->encode_value, &c->decode_value, &spec) == 2 && spec &&
                strcmp(line + spec, c->spec) == 0 && is_speed(c->encode_value) && is_speed(c->decode_value);
    }
    if (file) fclose(file);
    return found;
}

tithe_status plan_speed_codec(tithe_plan_codec *c, tithe_error *error)
{
    char path[MAX_PATH];
    const bool cached = cache_path("codec", path);
    if (cached && read_codec(path, c)) return TITHE_OK;
    text_progress("measuring how fast %s is here", c->spec);
    const tithe_status status = tithe_speed_measure_codec(c, error);
    text_progress_end();
    FILE *file = status || !cached ? NULL : fopen(path, "a");
    if (!file) return status;
    fprintf(file, "%.9g %.9g %s\n", c->encode_value, c->decode_value, c->spec);
    fclose(file);
    return TITHE_OK;
}
