/* uses_switch.c - a program of somebody who installed libtithe_switch: how can packets get to a switch here? */
#include <stdio.h>

#include <tithe/switch.h>

int main(void)
{
    unsigned count = 0;
    for (const tithe_switch_backend *const *b = tithe_switch_backends(); *b; b++, count++)
        printf("backend %s: %s\n", (*b)->name, (*b)->summary);
    return count ? 0 : 1;
}
