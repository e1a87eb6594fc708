/* cmd_probe.c - tithe probe: what does this link do? */
#include <math.h>
#include <stdlib.h>

#include "amounts.h"
#include "files.h"
#include "json.h"
#include "probe_group.h"
#include "text.h"
#include "train_run.h"
#include "verbs.h"

static cJSON *probe_json(const tithe_probe_link *link)
{
    cJSON *json = json_object(), *points = json_array();
    json_number(json, "latency_s", link->link.latency);
    json_number(json, "bandwidth_Bps", link->link.bandwidth);
    for (size_t i = 0; i < link->count; i++) {
        cJSON *point = json_append(points, json_object());
        json_number(point, "bytes", link->points[i].bytes);
        json_number(point, "seconds", link->points[i].seconds);
    }
    json_item(json, "points", points);
    return json;
}

/* A line is "bytes,seconds": what --cost table:FILE reads. Times never fall with the length. */
static bool write_table(const char *path, const tithe_probe_link *link)
{
    char text[TITHE_LINK_POINTS * 64];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "# tithe probe: latency %.6g s, bandwidth %.6g B/s\nbytes,seconds\n",
                                   link->link.latency, link->link.bandwidth);
    double max = 0;
    for (size_t i = 0; i < link->count; i++) {
        max = fmax(max, link->points[i].seconds);
        used += (size_t)snprintf(text + used, sizeof text - used, "%.0f,%.9g\n", link->points[i].bytes, max);
    }
    return file_write(path, text, used);
}

static int report(const group_links *found, const char *out, const char *json, bool quiet)
{
    const tithe_probe_link *link = probe_slowest(found);
    if (out && !write_table(out, link)) return EXIT_BAD;
    if (json && !json_write(json, probe_json(link))) return EXIT_BAD;
    if (quiet) return EXIT_DONE;
    for (size_t i = 0; i < found->count; i++)
        printf("rank 0 to rank %u: latency %s one way, bandwidth %s\n", found->links[i].to,
               amount_time(found->links[i].link.latency).text,
               amount_bandwidth(found->links[i].link.bandwidth).text);
    if (out) printf("%s: take it with --cost table:%s\n", out, out);
    return EXIT_DONE;
}

int cmd_probe(int argc, char **argv)
{
    train_settings s = train_settings_defaults();
    const char *out = NULL;
    double seconds = 5;
    uint64_t workers = 1;
    option options[TRAIN_OPTIONS];
    size_t n = train_process_options(&s, options);
    options[n++] = option_number("workers", "N", "zmq: how many workers there are", 2, 1000, &workers);
    options[n++] = option_real("seconds", "S", "about how long to measure (default 5)", 0.1, 3600, &seconds);
    options[n++] = option_text("out", "FILE", "write a cost file for --cost table:FILE", &out);
    options[n++] = option_json(&s.json); /* a server has facts of its own */
    options[n] = option_end();
    const command c = {
        .positionals = "",
        .min = 0,
        .max = 0,
        .summary = "Measure latency and bandwidth over a live transport, between rank 0 and every other "
                   "rank; the slowest link "
                   "is the answer.",
        .options = options,
        .examples = "  mpirun -n 2 tithe probe --transport mpi --out link.csv\n"
                    "  tithe probe --transport zmq --local 2 --seconds 1",
    };
    int count, status;
    if (!options_parse(&c, argc, argv, &count, &status)) return status;
    s.run.workers = (unsigned)(s.local ? s.local : workers);
    if (!file_outputs(
            (const file_output[]){{"--out", out, false}, {"--json", s.json, false}, {NULL, NULL, false}},
            &s.quiet))
        return EXIT_BAD;
    group_links found;
    const process_part part = probe_group(&s, seconds, &found);
    status = part == PART_FIRST ? report(&found, out, s.json, s.quiet) : found.status;
    free(found.links);
    return s.local ? status : train_exit(status);
}
