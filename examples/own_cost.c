/* own_cost.c - a cost of your own is one function: here a satellite link that is paid for in blocks of 50 bytes, the
 * first of a message at ten times the price. Then CAT chooses how many entries to send over it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tithe/tithe.h>

static double cents(const tithe_cost *cost, double bits)
{
    (void)cost; /* has the parameters, if the model states some */
    return 10 + ceil(bits / 400);
}

int main(void)
{
    enum { N = 10000 };
    static const tithe_cost_model satellite = {.name = "satellite",
                                               .summary = "10 cents, and 1 for each 50 bytes",
                                               .paper = "-",
                                               .unit = "cent",
                                               .of = cents};
    static float x[N];
    for (int i = 0; i < N; i++) x[i] = 1 / sqrtf(1 + (float)i); /* a gradient in which few entries matter */

    tithe_cost *cost = NULL;
    tithe_codec *codec = NULL;
    const tithe_tuner *cat = NULL;
    tithe_error error = {0};
    const tithe_codec_options options = {.contractive = true, .open_level = true};
    if (tithe_cost_make(&satellite, NULL, &cost, &error) ||
        tithe_codec_create("topk|sign", &options, &codec, &error) ||
        tithe_tuner_find("cat", &cat, NULL, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    tithe_tuner_call call = {
        .codec = codec, .cost = cost, .form = TITHE_EXCHANGE, .x = x, .n = N, .gamma = 1};
    call.scratch_size = cat->scratch(codec, N);
    call.scratch = malloc(call.scratch_size);
    tithe_choice choice = {0};
    const tithe_status status = call.scratch ? cat->choose(&call, &choice, &error) : TITHE_E_MEMORY;
    if (status)
        fprintf(stderr, "%s\n", error.text);
    else
        printf("%.0f of %d entries for %.0f %s buy %.1f %% of a full step: %s.\n", choice.entries, N,
               choice.cost, tithe_cost_unit(cost), 100 * choice.progress, choice.reason);
    free(call.scratch);
    tithe_codec_free(codec);
    tithe_cost_free(cost);
    return status ? 1 : 0;
}
