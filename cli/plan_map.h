/* plan_map.h - who wins where: latency down, bandwidth across. */
#ifndef TITHE_CLI_PLAN_MAP_H
#define TITHE_CLI_PLAN_MAP_H

#include "tithe/tithe.h"

enum { MAP_ROWS = 13, MAP_COLUMNS = 17, MAP_METHODS = 64 };

/* A scheme over a collective, with a codec where one is named, and how it is drawn. */
typedef struct plan_method {
    const char *scheme, *collective, *codec, *color; /* codec NULL: top-k, or dense */
    char letter;
} plan_method;

typedef struct plan_map {
    double latency[MAP_ROWS], bandwidth[MAP_COLUMNS];
    plan_method methods[MAP_METHODS]; /* those that have rows */
    size_t method_count;
    unsigned char winner[MAP_ROWS][MAP_COLUMNS]; /* place in methods */
} plan_map;

tithe_status plan_map_fill(const tithe_plan_request *request, plan_map *map, tithe_error *error);
/* By value, so that one printf can hold several. */
typedef struct plan_sentence {
    char text[320];
} plan_sentence;
/* Behind `tithe train`, for such a step. */
plan_sentence plan_flags(const tithe_plan_row *row);
/* Does its time depend on where the largest entries lie? ", at most 20 ms", with the codec; nothing where it does not. */
bool plan_crowds(const tithe_plan_row *row);
plan_sentence plan_at_most(const tithe_plan_row *row);
/* Where compression pays. */
plan_sentence plan_break_even(const tithe_plan *plan);
void plan_map_print(const plan_map *map, const tithe_plan_request *request);

/* An HTML page with the map as a picture, and the rows as a table. False: it could not be written, and that was said. */
bool plan_page_write(const char *path, const plan_map *map, const tithe_plan_request *request,
                     const tithe_plan_row *rows, const tithe_plan *plan);

#endif
