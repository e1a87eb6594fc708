/* specs.c - see specs.h. */
#include "specs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { HALF = 160 };

const spec_value spec_values_list[] = {{"keep", "0.01"}, {"lambda", "0.1"}, {"s", "7"}, {NULL, NULL}};
const spec_value spec_values_check[] = {
    {"keep", "0.1"}, {"lambda", "0.5"}, {"s", "7"}, {"bucket", "64"}, {NULL, NULL}};

static void add(spec_list *list, const char *half, bool base)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 16;
        spec_example *items = text_memory(capacity * sizeof *items);
        if (list->count) memcpy(items, list->items, list->count * sizeof *items);
        free(list->items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = (spec_example){text_copy(half), base};
}

void spec_list_free(spec_list *list)
{
    for (size_t i = 0; i < list->count; i++) free(list->items[i].half);
    free(list->items);
    *list = (spec_list){0};
}

spec_variant spec_selector(const tithe_selector *selector)
{
    return (spec_variant){selector->name, selector->summary, selector->paper, selector->params, true};
}

spec_variant spec_quantizer(const tithe_quantizer *quantizer)
{
    return (spec_variant){quantizer->name, quantizer->summary, quantizer->paper, quantizer->params, false};
}

tithe_codec *spec_alone(bool selector, const char *half, tithe_error *error)
{
    char spec[HALF + 16];
    tithe_codec *codec = NULL;
    snprintf(spec, sizeof spec, selector ? "%s|raw" : "all|%s", half);
    return tithe_codec_create(spec, NULL, &codec, error) == TITHE_OK ? codec : NULL;
}

static bool legal(bool selector, const char *half)
{
    tithe_codec *codec = spec_alone(selector, half, NULL);
    tithe_codec_free(codec);
    return codec != NULL;
}

static const tithe_param *find(const tithe_param *params, const char *name)
{
    for (; params && params->name; params++)
        if (strcmp(params->name, name) == 0) return params;
    return NULL;
}

bool spec_base(spec_variant v, const spec_value *values, char *half, size_t size, tithe_error *error)
{
    snprintf(half, size, "%s", v.name);
    if (legal(v.selector, half)) return true;
    for (; values->name; values++) {
        if (!find(v.params, values->name)) continue;
        snprintf(half, size, "%s:%s=%s", v.name, values->name, values->value);
        if (legal(v.selector, half)) return true;
    }
    tithe_codec_free(spec_alone(v.selector, v.name, error)); /* for its sentence */
    return false;
}

/* base + name=value; where that is too much (topk:keep=0.1,rule=l2), the variant with name=value alone. */
static void add_with(spec_variant v, const char *base, const char *name, const char *value, size_t length,
                     spec_list *out)
{
    char half[HALF];
    snprintf(half, sizeof half, "%s%c%s=%.*s", base, strchr(base, ':') ? ',' : ':', name, (int)length, value);
    if (!legal(v.selector, half)) {
        snprintf(half, sizeof half, "%s:%s=%.*s", v.name, name, (int)length, value);
        if (!legal(v.selector, half)) return;
    }
    add(out, half, false);
}

void spec_examples(spec_variant v, const spec_value *values, spec_list *out)
{
    char base[HALF];
    if (!spec_base(v, values, base, sizeof base, NULL)) return;
    add(out, base, true);

    for (const tithe_param *p = v.params; p && p->name; p++) {
        if (p->choices) {
            const int usual = isnan(p->fallback) ? 0 : (int)p->fallback;
            const char *choice = p->choices;
            for (int place = 0;; place++) {
                const size_t length = strcspn(choice, "|");
                if (place != usual) add_with(v, base, p->name, choice, length, out);
                if (!choice[length]) break;
                choice += length + 1;
            }
        } else if (!isnan(p->fallback)) {
            /* A number without a default is a level, and one level is enough. */
            for (const spec_value *example = values; example->name; example++)
                if (strcmp(example->name, p->name) == 0)
                    add_with(v, base, p->name, example->value, strlen(example->value), out);
        }
    }
}
