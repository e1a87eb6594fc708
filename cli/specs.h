/* specs.h - example specs, made from the tables of variants alone.
 *
 * A new selector or quantizer is listed and checked without a word here, as long as one of the example values
 * below, or none at all, makes it complete. */
#ifndef TITHE_CLI_SPECS_H
#define TITHE_CLI_SPECS_H

#include <stdbool.h>
#include <stddef.h>

#include "tithe/tithe.h"

typedef struct spec_example {
    char *half; /* "topk:keep=0.1", one side of the bar */
    bool base;  /* the plainest of its variant */
} spec_example;

typedef struct spec_list {
    spec_example *items;
    size_t count, capacity;
} spec_list;
void spec_list_free(spec_list *list);

/* Parameters that need an example value, in the order in which they are tried. A NULL name ends the list. */
typedef struct spec_value {
    const char *name, *value;
} spec_value;
extern const spec_value spec_values_list[];  /* as one would use them: keep=0.01 */
extern const spec_value spec_values_check[]; /* levels at which a few thousand coordinates tell enough */

/* The two kinds of variant, as far as a spec sees them. */
typedef struct spec_variant {
    const char *name, *summary, *paper;
    const tithe_param *params;
    bool selector;
} spec_variant;
spec_variant spec_selector(const tithe_selector *selector);
spec_variant spec_quantizer(const tithe_quantizer *quantizer);

/* The codec that shows a half spec at its plainest: "half|raw" or "all|half". NULL when it is refused. */
tithe_codec *spec_alone(bool selector, const char *half, tithe_error *error);

/* The variant with the fewest parameters that make it legal: "topk:keep=0.01", "natural". False, with the
 * library's sentence, when no example value does. */
bool spec_base(spec_variant v, const spec_value *values, char *half, size_t size, tithe_error *error);

/* Add the base, then one spec for each further choice and each further example value. */
void spec_examples(spec_variant v, const spec_value *values, spec_list *out);

#endif
