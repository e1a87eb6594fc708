/* json.h - thin help over cJSON: what --json FILE writes. */
#ifndef TITHE_CLI_JSON_H
#define TITHE_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

/* cJSON's calls return NULL when memory runs out; these end the program with one sentence instead. */
cJSON *json_object(void);
cJSON *json_array(void);
cJSON *json_append(cJSON *array, cJSON *item); /* returns the item */

void json_item(cJSON *object, const char *name, cJSON *item);
void json_number(cJSON *object, const char *name, double value); /* not finite: null */
void json_count(cJSON *object, const char *name, uint64_t value);
void json_text(cJSON *object, const char *name, const char *value); /* NULL: null */
void json_bool(cJSON *object, const char *name, bool value);
void json_traits(cJSON *object, const char *name, unsigned traits);

/* Write and free. False: it could not be written, and that was said. */
bool json_write(const char *path, cJSON *json);

/* Found out before long work begins; NULL is fine. False: that was said. */
bool json_can_write(const char *path);

/* Is standard output taken by the JSON, so that nothing else may be printed there? */
bool json_alone(const char *path);

#endif
