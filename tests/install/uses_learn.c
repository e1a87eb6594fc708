/* uses_learn.c - a program of somebody who installed libtithe_learn: it trains for three steps. */
#include <stdio.h>

#include <tithe/learn.h>

int main(void)
{
    tithe_train_options o = {.size = sizeof o};
    tithe_train_defaults(&o);
    o.data = "a9a-like:scale=0.01";
    o.workers = 2;
    o.codec = "topk:keep=0.1|natural";
    o.steps = 3;
    tithe_train_result result = {0};
    tithe_error error = {0};
    const tithe_status status = tithe_train_run(&o, &result, &error);
    printf("%s\n", status ? error.text : "learned");
    return status ? 1 : 0;
}
