/* comma.h - a country where numbers have a comma. CMake makes the locale if Debian's package `locales` is there. */
#ifndef TESTS_COMMA_H
#define TESTS_COMMA_H

#include <locale.h>
#include <stdbool.h>

static inline bool set_locale_with_comma(void)
{
    static const char *const countries[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    for (int i = 0; i < 4; i++)
        if (setlocale(LC_ALL, countries[i])) return localeconv()->decimal_point[0] == ',';
    return false;
}

#endif
