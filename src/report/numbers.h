/* numbers.h - doubles as text that reads back to the same bits, with a point in every country.
 *
 * A locale is made once for many numbers, because making one costs more than writing a number. */
#ifndef REPORT_NUMBERS_H
#define REPORT_NUMBERS_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct number_locale {
    locale_t ours, before;
} number_locale;

/* Between these two the calling thread writes and reads numbers as in C. False: no memory. */
bool ti_number_enter(number_locale *locale);
void ti_number_leave(number_locale *locale);

enum { NUMBER_SIZE = 32 };

/* The fewest of 15, 16 or 17 digits that read back exactly; "inf" or "-inf" for an infinity, and nothing for NAN.
 * Returns the length. */
size_t ti_number_write(double value, char text[NUMBER_SIZE]);

/* The whole of text[0, length): decimal digits with point and exponent, "inf", "-inf", or empty for NAN. */
bool ti_number_read(const char *text, size_t length, double *value);

#endif
