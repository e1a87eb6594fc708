/* numbers.c - see numbers.h. */
#include "report/numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ti_number_enter(number_locale *locale)
{
    locale->ours = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!locale->ours) return false;
    locale->before = uselocale(locale->ours);
    return true;
}

void ti_number_leave(number_locale *locale)
{
    uselocale(locale->before);
    freelocale(locale->ours);
}

size_t ti_number_write(double value, char text[NUMBER_SIZE])
{
    text[0] = 0;
    if (isnan(value)) return 0;
    if (isinf(value)) return (size_t)snprintf(text, NUMBER_SIZE, value > 0 ? "inf" : "-inf");
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(text, NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return (size_t)length;
}

/* What strtod would also take (white space, hexadecimal, nan(...)) is nothing that this project writes. */
static bool is_decimal(const char *text, size_t length)
{
    return strspn(text, "0123456789.eE+-") == length && strcspn(text, "0123456789") < length;
}

bool ti_number_read(const char *text, size_t length, double *value)
{
    char copy[64];
    if (length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    if (length == 0) {
        *value = NAN;
    } else if (strcmp(copy, "inf") == 0 || strcmp(copy, "-inf") == 0) {
        *value = copy[0] == '-' ? -INFINITY : INFINITY;
    } else {
        char *end;
        if (!is_decimal(copy, length)) return false;
        const double read = strtod(copy, &end);
        if (*end || isinf(read)) return false;
        *value = read;
    }
    return true;
}
