/* cmd_switch.c - tithe switch: adds the gradients of workers while they pass. */
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "json.h"
#include "options.h"
#include "switches.h"
#include "text.h"
#include "train_run.h"
#include "verbs.h"

static bool is_stopped(void *context)
{
    (void)context;
    return train_interrupts() > 0;
}

/* On standard error where the answer goes to standard output. */
static void tell_where(void *context, const char *address)
{
    const char *json = context;
    FILE *to = json_alone(json) ? stderr : stdout;
    fprintf(to, "the switch listens at %s\n", address);
    fflush(to);
}

static cJSON *counts_json(const tithe_switch_counts *counts, const switch_library *library)
{
    cJSON *json = json_object(), *reasons = json_object();
    json_count(json, "packets", counts->packets);
    json_count(json, "aggregated", counts->aggregated);
    json_count(json, "retransmitted", counts->retransmitted);
    json_count(json, "dropped", counts->dropped);
    for (unsigned r = 1; library->reason(r); r++) json_count(reasons, library->reason(r), counts->reasons[r]);
    json_item(json, "dropped_as", reasons);
    return json;
}

static void print_counts(const tithe_switch_counts *counts, const switch_library *library)
{
    printf("%s packets, %s sums, %s parts sent again, %s dropped", text_group(counts->packets).text,
           text_group(counts->aggregated).text, text_group(counts->retransmitted).text,
           text_group(counts->dropped).text);
    for (unsigned r = 1; library->reason(r); r++)
        if (counts->reasons[r]) printf("; %s: %s", library->reason(r), text_group(counts->reasons[r]).text);
    printf("\n");
}

static int serve(tithe_switch_options *o, const char *json)
{
    switch_library library;
    tithe_error error = {0};
    tithe_switch_counts counts = {.size = sizeof counts};
    if (!switch_load(&library)) return EXIT_BAD;
    train_catch_interrupt(true);
    o->stop = is_stopped;
    o->ready = tell_where;
    o->ready_context = (void *)json;
    const tithe_status status = library.serve(o, &counts, &error);
    if (status) return text_fail_status(NULL, status, &error);
    if (json && !json_write(json, counts_json(&counts, &library))) return EXIT_BAD;
    if (!json_alone(json)) print_counts(&counts, &library);
    return EXIT_DONE;
}

int cmd_switch(int argc, char **argv)
{
    tithe_switch_options o = {.size = sizeof o, .address = "127.0.0.1:5555"};
    uint64_t workers = 0, jobs = 0, slots = 0, datagram = 0;
    const char *json = NULL;
    const option options[] = {
        option_number("workers", "N", "workers of a job", 1, 1024, &workers),
        option_text("listen", "HOST:PORT", "where (default 127.0.0.1:5555); port 0 takes one that is free",
                    &o.address),
        option_text("key", "FILE", "a secret that the workers have, too: needed beyond this machine", &o.key),
        option_flag("trusted", "listen beyond this machine without a key", &o.trusted),
        option_text("backend", "NAME", "what adds: udp, a process (default), or bpf, a program in the kernel",
                    &o.backend),
        option_number("jobs", "N", "runs at the same time (default 4)", 1, 256, &jobs),
        option_number("slots", "N",
                      "packets of a worker under way, a power of two (default: as the socket has room)", 1,
                      32768, &slots),
        option_number("datagram", "BYTES", "the longest packet (default: what the interface carries)", 60,
                      65507, &datagram),
        option_json(&json),
        option_end(),
    };
    const command c = {
        .positionals = "",
        .min = 0,
        .max = 0,
        .summary =
            "Add the gradients of workers while they pass, and send the sum to all: aggregation inside the "
            "network. Runs until Ctrl-C or SIGTERM, and then says what it has done.",
        .options = options,
        .examples =
            "  tithe switch --workers 2 --listen 127.0.0.1:5555 --json switch.json\n"
            "  tithe train --data w8a-like --workers 2 --scheme switch --switch 127.0.0.1:5555 --codec "
            "'all|natural'\n"
            "  head -c 32 /dev/urandom > run.key; tithe switch --workers 8 --listen 10.0.0.9:5555 --key "
            "run.key",
    };
    int count, status;
    if (!options_parse(&c, argc, argv, &count, &status)) return status;
    if (!workers) return text_fail("Say how many workers a job has, such as --workers 2");
    o.workers = (unsigned)workers;
    o.jobs = (unsigned)jobs;
    o.slots = (unsigned)slots;
    o.datagram = (unsigned)datagram;
    if (!json_can_write(json)) return EXIT_BAD;
    return serve(&o, json);
}
