/* codecs.c - what each codec makes of one gradient.
 *
 * The gradient is made here: eight layers whose scales lie two decades apart, heavy-tailed inside each, as those
 * of trained networks are. Its seed is fixed, so everybody sees the same table. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <tithe/tithe.h>

enum { N = 1000000, LAYERS = 8 };

typedef struct row {
    const char *spec; /* NULL: a heading */
    const char *title;
} row;

static const row rows[] = {
    {NULL, "Every coordinate, fewer bits"},
    {"raw", NULL},
    {"bf16", NULL},
    {"natural", NULL},
    {"natdither:s=7", NULL},
    {"dither:s=7,bucket=512", NULL},
    {"sign", NULL},
    {NULL, "A few coordinates, chosen by size"},
    {"topk:keep=0.1|raw", NULL},
    {"topk:keep=0.01|raw", NULL},
    {"topk:keep=0.01|natural", NULL},
    {"topk:keep=0.01|sign", NULL},
    {"topk:keep=0.001|natural", NULL},
    {"threshold:lambda=0.01|natural", NULL},
    {"mstopk:keep=0.01|natural", NULL},
    {NULL, "A few coordinates, chosen by chance"},
    {"randk:keep=0.01,scale=contractive|natural", NULL},
    {"stochastic:keep=0.01|raw", NULL},
    {"stochastic:keep=0.01,scale=contractive|raw", NULL},
};

/* ---- the gradient ------------------------------------------------------------------------------------- */

static uint64_t state = 2024;

/* splitmix64: a few lines, and good enough to look at. */
static double uniform(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double gaussian(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static void make_gradient(float *x)
{
    for (size_t i = 0; i < N; i++) {
        const size_t layer = i * LAYERS / N;
        const double scale = 1e-2 * pow(10, -2.0 * (double)layer / (LAYERS - 1));
        x[i] = (float)(scale * gaussian() * exp(gaussian())); /* a normal whose own width varies */
    }
}

/* ---- one codec ---------------------------------------------------------------------------------------- */

static const char *grouped(size_t value, char *text)
{
    char digits[24];
    const int count = snprintf(digits, sizeof digits, "%zu", value);
    int at = 0;
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = 0;
    return text;
}

static tithe_status show(const char *spec, const float *x, float *y, tithe_error *error)
{
    tithe_codec *codec = NULL;
    tithe_frame_info info;
    tithe_status status = tithe_codec_create(spec, NULL, &codec, error);
    if (status) return status;

    const size_t capacity = tithe_codec_bound(codec, N), work = tithe_codec_scratch(codec, N);
    uint8_t *frame = malloc(capacity);
    tithe_call call = {.seed = 1, .scratch = malloc(work), .scratch_size = work};
    status = frame && call.scratch ? TITHE_OK : TITHE_E_MEMORY;
    for (size_t i = 0; i < N; i++) y[i] = 0;
    if (!status) status = tithe_encode(codec, &call, x, N, frame, capacity, &info, error);
    if (!status) status = tithe_decode_add(codec, &call, frame, info.bytes, 1.0f, y, N, error);
    if (!status) {
        double all = 0, sent = 0, both = 0, lost = 0;
        for (size_t i = 0; i < N; i++) {
            const double miss = (double)y[i] - x[i];
            all += (double)x[i] * x[i];
            sent += (double)y[i] * y[i];
            both += (double)x[i] * y[i];
            lost += miss * miss;
        }
        char bytes[32];
        const double kept = both * both / (all * sent), smaller = 4.0 * N / (double)info.bytes;
        printf("  %-43s %10s %8.*f x %8.2f %% %10.3g %8.3f\n", spec, grouped(info.bytes, bytes),
               smaller < 100 ? 1 : 0, smaller, 100 * kept, lost / all, 8 * (double)info.bytes / N);
    }
    free(frame);
    free(call.scratch);
    tithe_codec_free(codec);
    return status;
}

int main(void)
{
    static float x[N], y[N];
    char count[32], dense[32];
    make_gradient(x);

    printf("A gradient of %s coordinates, %s bytes as f32, as each codec sends it:\n\n", grouped(N, count),
           grouped(sizeof x, dense));
    printf("  %-43s %10s %10s %10s %10s %8s\n", "codec", "bytes", "smaller", "energy", "error", "bits per");
    printf("  %-43s %10s %10s %10s %10s %8s\n", "", "", "", "kept", "", "coord.");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tithe_error error = {0};
        if (!rows[i].spec) {
            printf("\n  %s\n", rows[i].title);
        } else if (show(rows[i].spec, x, y, &error)) {
            fprintf(stderr, "codecs: %s: %s\n", rows[i].spec, error.text);
            return 2;
        }
    }
    printf("\n"
           "  bytes        the whole frame: header, positions, values and checksum\n"
           "  energy kept  <x, C(x)>^2 / (|x|^2 |C(x)|^2), whatever C(x) is multiplied with\n"
           "  error        |C(x) - x|^2 / |x|^2\n"
           "  error > 1    the price of being right on average: unbiased codecs scale up what they send,\n"
           "               so they want many workers, or scale=contractive together with error feedback\n");
    return 0;
}
