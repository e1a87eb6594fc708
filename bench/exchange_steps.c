/* exchange_steps.c - steps of one scheme over one collective on a live transport, each timed: what a plan is compared with.
 *
 *     mpirun -n 2 build/tests/bench_exchange_steps mpi gather allgather topk:keep=0.1 1048576 5
 *     build/tests/bench_exchange_steps zmq dense ring raw 1048576 5 --workers 2 --role worker --connect tcp://10.0.0.1:5577
 *     mpirun -n 2 build/tests/bench_exchange_steps mpi gather allgather topk:keep=0.1 1048576 5 --layers 8 --backward 0.2 --overlap off
 *
 * With --layers N the vector comes in N equal layers, each a bucket, and each ready when its share of --backward seconds has passed, in
 * which the processor is idle: a device of its own computes. With --overlap on (the default) a layer is sent while the next one is made.
 *
 * Rank 0 prints one line of JSON: the seconds of each step, from its start on all ranks to its end on the last one, and where
 * rank 0's went; and, in tools/netlab, the bytes of a step that went over the busiest link, up and down. With --switch HOST:PORT a switch
 * adds there, for the scheme of that name. The first two steps open connections and warm caches, and are not counted.
 *
 * Ranks are to start together: otherwise one that is served early would send the next step's message while others still wait
 * for this one's, and a step would seem shorter than it is. They take the time from the clock of one machine, on which all
 * hosts of tools/netlab live; where clocks differ, steps begin one after the other, and only medians mean something. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/status.h"
#include "comm/comm.h"
#include "serve/serve.h"
#include "tithe/switch.h"
#include "tithe/tithe.h"
#include "tithe/transport.h"

enum { WARM_UP = 2, ARGUMENTS = 7 };
static const double HEAD_START = 0.05; /* seconds from the agreement on a start until it */

typedef struct settings {
    const char *transport, *scheme, *collective, *codec;
    size_t n;
    unsigned steps, workers, layers;
    double backward; /* seconds */
    bool server, overlap;
    const char *endpoint, *at_switch;
    size_t *lengths; /* of the layers */
} settings;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Like a gradient: few are large. */
static void fill(float *g, size_t n, unsigned state)
{
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        for (int j = 0; j < 4; j++) {
            state = state * 1664525u + 1013904223u;
            sum += (float)(state >> 8) / 8388608.0f - 1.0f;
        }
        const float wide = (float)(state >> 16 & 255u) / 255.0f;
        g[i] = sum * wide * wide * wide;
    }
}

static tithe_status open_comm(const settings *s, tithe_comm **comm, tithe_error *error)
{
#ifdef TITHE_HAS_ZMQ
    if (strcmp(s->transport, "zmq") == 0) {
        const tithe_zmq_options o = {.size = sizeof o,
                                     .endpoint = s->endpoint,
                                     .server = s->server,
                                     .workers = s->workers,
                                     .peers = strcmp(s->scheme, "star") != 0,
                                     .timeout = 60};
        return tithe_comm_zmq(&o, comm, error);
    }
#endif
#ifdef TITHE_HAS_MPI
    if (strcmp(s->transport, "mpi") == 0) return tithe_comm_mpi(NULL, comm, error);
#endif
    return ti_fail(error, TITHE_E_ARGUMENT, 0, "There is no transport '%s' here.", s->transport);
}

static tithe_status attach(const settings *s, tithe_comm *comm, tithe_error *error)
{
#ifdef TITHE_HAS_SWITCH
    const tithe_switch_options at = {.size = sizeof at, .address = s->at_switch};
    return tithe_switch_attach(comm, &at, error);
#else
    (void)comm;
    return ti_fail(error, TITHE_E_ARGUMENT, 0, "There is no switch here: leave out %s.", s->at_switch);
#endif
}

/* Bytes that this host's link has carried, there and back, heads included: what the kernel has counted of e0, which a host of
 * tools/netlab has. */
static void read_link(double bytes[2])
{
    char line[512];
    FILE *file = fopen("/proc/net/dev", "r");
    bytes[0] = bytes[1] = 0;
    while (file && fgets(line, sizeof line, file)) {
        const char *at = strstr(line, "e0:");
        if (at) sscanf(at + 3, "%lf %*f %*f %*f %*f %*f %*f %*f %lf", &bytes[1], &bytes[0]);
    }
    if (file) fclose(file);
}

/* The way back of a star is compressed as the way up is. */
static tithe_status open_exchange(const settings *s, tithe_comm *comm, tithe_codec **codec,
                                  tithe_exchange **ex, tithe_error *error)
{
    const bool dense = strcmp(s->scheme, "dense") == 0, star = strcmp(s->scheme, "star") == 0;
    const tithe_feedback *feedback = NULL;
    tithe_status status = tithe_feedback_find(dense ? "none" : "ec", &feedback, NULL, error);
    if (status) return status;
    const tithe_codec_options options = {.contractive = feedback->contracts};
    status = tithe_codec_create(s->codec, &options, codec, error);
    if (status) return status;
    const tithe_exchange_config config = {.size = sizeof(tithe_exchange_config),
                                          .comm = comm,
                                          .codec = *codec,
                                          .feedback = feedback,
                                          .downlink = star ? *codec : NULL,
                                          .downlink_feedback = star ? feedback : NULL,
                                          .scheme = s->scheme,
                                          .collective = s->collective,
                                          .layers = s->lengths,
                                          .layer_count = s->layers,
                                          .bucket_bytes = s->layers ? TITHE_EACH_LAYER : 0,
                                          .overlap = s->overlap,
                                          .seed = 1};
    return tithe_exchange_create(&config, s->n, ex, error);
}

/* ---- the two kinds of process ------------------------------------------------------------------------------- */

static tithe_status accept_all(void *context, const char *text, tithe_error *error)
{
    (void)context;
    (void)text;
    (void)error;
    return TITHE_OK;
}

static tithe_status serve_step(void *context, unsigned exchange, tithe_error *error)
{
    (void)exchange;
    return tithe_exchange_serve(context, error);
}

static tithe_status serve(tithe_comm *comm, tithe_exchange *ex, tithe_error *error)
{
    const comm_service service = {.context = ex, .accept = accept_all, .step = serve_step};
    return ti_serve(comm, &service, error);
}

static void print(const settings *s, const tithe_comm *comm, const double *seconds, const double link[2],
                  const tithe_exchange_totals *before, const tithe_exchange_totals *after)
{
    const double steps = s->steps;
    printf("{\"ranks\":%u,\"n\":%zu,\"seconds\":[", comm->size, s->n);
    for (unsigned i = 0; i < s->steps; i++) printf("%s%.6f", i ? "," : "", seconds[i]);
    printf("],\"encode\":%.6f,\"decode\":%.6f,\"wait\":%.6f,\"transfer\":%.6f,\"overlap\":%.6f,\"sent_"
           "bytes\":%.0f,"
           "\"frame_bytes\":%.0f,\"link_up\":%.0f,\"link_down\":%.0f}\n",
           (after->encode - before->encode) / steps, (after->decode - before->decode) / steps,
           (after->wait - before->wait) / steps, (after->transfer - before->transfer) / steps,
           (after->overlap - before->overlap) / steps, (after->sent_bytes - before->sent_bytes) / steps,
           (after->uplink_bytes - before->uplink_bytes) / steps, link[0] / steps, link[1] / steps);
}

/* All ranks begin at the same time, *start. */
static tithe_status line_up(tithe_comm *comm, double *start, tithe_error *error)
{
    *start = now() + HEAD_START;
    const double own = *start;
    const tithe_status status = ti_comm_fold(comm, COMM_MAX, start, 1, error);
    if (fabs(*start - own) > 5) *start = now(); /* another machine's clock */
    while (!status && now() < *start)
        if (*start - now() > 2e-3) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return status;
}

/* Layer by layer, as a backward pass has them ready. */
static tithe_status step_by_layers(const settings *s, tithe_comm *comm, tithe_exchange *ex, float *g,
                                   tithe_error *error)
{
    const double start = now();
    tithe_status status = TITHE_OK;
    size_t at = 0;
    for (unsigned l = 0; l < s->layers && !status; at += s->lengths[l++]) {
        const double ready = start + s->backward * (l + 1) / s->layers;
        for (double left; (left = ready - now()) > 0;)
            nanosleep(&(struct timespec){(time_t)left, (long)(1e9 * fmod(left, 1))}, NULL);
        status = tithe_exchange_put_layer(ex, comm->first, 0, l, g + at, 0.1, error);
    }
    return status ? status : tithe_exchange_finish(ex, g, error);
}

static tithe_status work(const settings *s, tithe_comm *comm, tithe_exchange *ex, tithe_error *error)
{
    float *from = malloc(s->n * sizeof *from), *g = malloc(s->n * sizeof *g);
    double *seconds = calloc(s->steps, sizeof *seconds), link_before[2] = {0};
    tithe_exchange_totals before = {.size = sizeof before}, after = before;
    tithe_status status = TITHE_OK;
    if (!from || !g || !seconds) status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory.");
    if (!status) fill(from, s->n, comm->first + 1);
    for (unsigned step = 0; step < WARM_UP + s->steps && !status; step++) {
        if (step == WARM_UP) {
            tithe_exchange_total(ex, &before);
            read_link(link_before);
        }
        memcpy(g, from, s->n * sizeof *g);
        double start, end = 0;
        status = line_up(comm, &start, error);
        if (!status)
            status =
                s->layers ? step_by_layers(s, comm, ex, g, error) : tithe_exchange_step(ex, g, 0.1, error);
        end = now();
        if (!status) status = ti_comm_fold(comm, COMM_MAX, &end, 1, error);
        if (step >= WARM_UP) seconds[step - WARM_UP] = end - start;
    }
    tithe_exchange_total(ex, &after);
    double link[2];
    read_link(link);
    for (int i = 0; i < 2; i++) link[i] -= link_before[i];
    if (!status) status = ti_comm_fold(comm, COMM_MAX, link, 2, error); /* of the busiest host */
    if (!status) status = ti_comm_dismiss_server(comm, error);
    if (!status && comm->first == 0) print(s, comm, seconds, link, &before, &after);
    free(from);
    free(g);
    free(seconds);
    return status;
}

/* ---- what is asked for ----------------------------------------------------------------------------------------- */

static bool read_settings(int argc, char **argv, settings *s)
{
    if (argc < ARGUMENTS) return false;
    *s = (settings){.transport = argv[1],
                    .scheme = argv[2],
                    .collective = argv[3],
                    .codec = argv[4],
                    .n = strtoull(argv[5], NULL, 10),
                    .steps = (unsigned)strtoul(argv[6], NULL, 10),
                    .overlap = true};
    for (int i = ARGUMENTS; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--workers") == 0) s->workers = (unsigned)strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--layers") == 0) s->layers = (unsigned)strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--backward") == 0) s->backward = strtod(argv[i + 1], NULL);
        if (strcmp(argv[i], "--overlap") == 0) s->overlap = strcmp(argv[i + 1], "on") == 0;
        if (strcmp(argv[i], "--role") == 0) s->server = strcmp(argv[i + 1], "server") == 0;
        if (strcmp(argv[i], "--switch") == 0) s->at_switch = argv[i + 1];
        if (strcmp(argv[i], "--listen") == 0 || strcmp(argv[i], "--connect") == 0) s->endpoint = argv[i + 1];
    }
    s->lengths = calloc(s->layers + 1, sizeof *s->lengths);
    for (unsigned l = 0; s->lengths && l < s->layers; l++)
        s->lengths[l] = tithe_part_begin(s->n, s->layers, l + 1) - tithe_part_begin(s->n, s->layers, l);
    return s->n > 0 && s->steps > 0 && s->lengths;
}

int main(int argc, char **argv)
{
    settings s;
    if (!read_settings(argc, argv, &s)) {
        fprintf(
            stderr,
            "usage: exchange_steps mpi|zmq SCHEME COLLECTIVE CODEC NUMBERS STEPS [--workers N --role "
            "server|worker --listen|--connect ENDPOINT] [--layers N --backward SECONDS --overlap on|off]\n");
        return 2;
    }
    tithe_comm *comm = NULL;
    tithe_codec *codec = NULL;
    tithe_exchange *ex = NULL;
    tithe_error error = {.code = TITHE_OK};
    tithe_status status = open_comm(&s, &comm, &error);
    if (!status && s.at_switch) status = attach(&s, comm, &error);
    if (!status) status = open_exchange(&s, comm, &codec, &ex, &error);
    if (!status) status = comm->local ? work(&s, comm, ex, &error) : serve(comm, ex, &error);
    if (status) fprintf(stderr, "exchange_steps: %s\n", error.text);
    tithe_exchange_free(ex);
    tithe_codec_free(codec);
    tithe_comm_free(comm);
    free(s.lengths);
    return status ? 2 : 0;
}
