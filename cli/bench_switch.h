/* bench_switch.h - the rows of `tithe bench switch`. */
#ifndef TITHE_CLI_BENCH_SWITCH_H
#define TITHE_CLI_BENCH_SWITCH_H

/* Measures, prints and writes the JSON (NULL: none); the exit status. */
int bench_switch(const char *json);

#endif
