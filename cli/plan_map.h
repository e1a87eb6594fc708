/* plan_map.h - who wins where: latency down, bandwidth across. */
#ifndef TITHE_CLI_PLAN_MAP_H
#define TITHE_CLI_PLAN_MAP_H

#include "tithe/tithe.h"

enum { MAP_ROWS = 13, MAP_COLUMNS = 17 };

typedef struct plan_map {
    double latency[MAP_ROWS], bandwidth[MAP_COLUMNS];
    unsigned char winner[MAP_ROWS][MAP_COLUMNS]; /* place in plan_methods */
} plan_map;

typedef struct plan_method {
    const char *scheme, *collective, *name, *color;
    char letter;
} plan_method;
extern const plan_method plan_methods[]; /* ends with a NULL scheme */
size_t plan_method_of(const tithe_plan_row *row);

tithe_status plan_map_fill(const tithe_plan_request *request, plan_map *map, tithe_error *error);
void plan_map_print(const plan_map *map, const tithe_plan_request *request);

/* An HTML page with the map as a picture, and the rows as a table. False: it could not be written, and that was said. */
bool plan_page_write(const char *path, const plan_map *map, const tithe_plan_request *request,
                     const tithe_plan_row *rows, const tithe_plan *plan);

#endif
