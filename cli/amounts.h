/* amounts.h - numbers with units on the command line: 1ms, 100Mbit, 1e6..1e9. */
#ifndef TITHE_CLI_AMOUNTS_H
#define TITHE_CLI_AMOUNTS_H

#include <stdbool.h>
#include <stddef.h>

/* "250us", "1ms", "2s" in seconds; a bare number is seconds. */
bool amount_seconds(const char *text, double *seconds);
/* "100Mbit", "10Gbit", "12MB" in bytes per second; a bare number is bytes per second. */
bool amount_rate(const char *text, double *bytes_per_second);

/* "0.1,0.01,0.001": positive numbers into room for `most`. */
bool amount_list(const char *text, double *values, size_t max, size_t *count);

/* 0.00123 as "1.23 ms"; 1.25e8 B/s as "1 Gbit/s". */
typedef struct amount_text {
    char text[32];
} amount_text;
amount_text amount_time(double seconds);
amount_text amount_bandwidth(double bytes_per_second);

#endif
