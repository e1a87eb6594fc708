/* json.c - see json.h. */
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "text.h"

static void *need(void *made)
{
    if (!made) exit(text_fail("There is no memory left for the JSON"));
    return made;
}

cJSON *json_object(void)
{
    return need(cJSON_CreateObject());
}

cJSON *json_array(void)
{
    return need(cJSON_CreateArray());
}

cJSON *json_append(cJSON *array, cJSON *item)
{
    if (!cJSON_AddItemToArray(array, need(item))) need(NULL);
    return item;
}

void json_item(cJSON *object, const char *name, cJSON *item)
{
    if (!cJSON_AddItemToObject(object, name, need(item))) need(NULL);
}

void json_number(cJSON *object, const char *name, double value)
{
    json_item(object, name, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

/* Exact up to 2^53, more than any file holds. */
void json_count(cJSON *object, const char *name, uint64_t value)
{
    json_number(object, name, (double)value);
}

void json_text(cJSON *object, const char *name, const char *value)
{
    json_item(object, name, value ? cJSON_CreateString(value) : cJSON_CreateNull());
}

void json_bool(cJSON *object, const char *name, bool value)
{
    json_item(object, name, cJSON_CreateBool(value));
}

void json_traits(cJSON *object, const char *name, unsigned traits)
{
    cJSON *list = json_array();
    for (const text_trait *t = text_traits; t->name; t++)
        if (traits & t->bit) json_append(list, cJSON_CreateString(t->name));
    json_item(object, name, list);
}

bool json_write(const char *path, cJSON *json)
{
    char *text = need(cJSON_Print(json));
    const size_t length = strlen(text);
    char *line = text_memory(length + 1);
    memcpy(line, text, length);
    line[length] = '\n'; /* a text file ends with a newline */
    const bool fine = file_write(path, line, length + 1);
    free(line);
    cJSON_free(text);
    cJSON_Delete(json);
    return fine;
}

bool json_can_write(const char *path)
{
    return !path || file_is_standard(path) || file_can_write(path);
}

bool json_alone(const char *path)
{
    return path && file_is_standard(path);
}
