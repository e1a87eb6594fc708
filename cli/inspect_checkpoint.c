/* inspect_checkpoint.c - see inspect_checkpoint.h. */
#include "inspect_checkpoint.h"

#include <stdio.h>
#include <string.h>

#include "json.h"
#include "text.h"
#include "tithe/learn.h"

/* One line "key: value" of the description. False: there is no more. */
static bool next_line(const char **text, char *key, size_t key_room, char *value, size_t value_room)
{
    const size_t length = strcspn(*text, "\n"), colon = strcspn(*text, ":");
    if (!**text || colon + 2 > length) return false;
    snprintf(key, key_room, "%.*s", (int)colon, *text);
    snprintf(value, value_room, "%.*s", (int)(length - colon - 2), *text + colon + 2);
    *text += length + ((*text)[length] == '\n');
    return true;
}

/* The vectors, in words: what a run needs to go on. */
static void name_vectors(const tithe_checkpoint *c, char *text, size_t room)
{
    const struct {
        bool has;
        const char *what;
    } vectors[] = {{c->aggregate, "the aggregate of the feedback"},
                   {c->server_residual, "what the server or the owners have not sent"},
                   {c->anchor, "the anchor"},
                   {c->averages, "averages"},
                   {c->clients, "the order of the clients"},
                   {c->learned > 0, "what the scheme and the tuner learned"},
                   {c->residual, "what each worker has not sent"},
                   {c->momentum, "the momentum of each worker"},
                   {c->moved, "the last update, as each worker remembers it"},
                   {c->lowest, "the model of the lowest loss"}};
    size_t used = (size_t)snprintf(text, room, "the model");
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors && used < room; i++)
        if (vectors[i].has) used += (size_t)snprintf(text + used, room - used, ", %s", vectors[i].what);
}

static void print_checkpoint(const char *name, const tithe_checkpoint *c, size_t length)
{
    char key[64], value[1200], vectors[256];
    const char *line = c->text;
    name_vectors(c, vectors, sizeof vectors);
    printf("%s: a checkpoint after step %s, %.4g epochs, %.3g s; %s bytes\n\n", name,
           text_group(c->step).text, c->epochs, c->seconds, text_group(length).text);
    printf("  %-18s  %s\n", "workers", text_group(c->workers).text);
    printf("  %-18s  %s\n", "parameters", text_group(c->n).text);
    printf("  %-18s  %llu\n", "seed", (unsigned long long)c->seed);
    while (next_line(&line, key, sizeof key, value, sizeof value))
        if (strcmp(key, "workers") != 0 && strcmp(key, "seed") != 0) printf("  %-18s  %s\n", key, value);
    printf("  %-18s  up %s, back %s, sent in all %s; cost %s\n", "so far",
           text_bytes(c->totals.uplink_bytes).text, text_bytes(c->totals.downlink_bytes).text,
           text_bytes(c->totals.sent_bytes).text, text_short(c->totals.cost).text);
    printf("  %-18s  ", "holds");
    text_wrap(stdout, 22, 22, vectors);
    printf("  %-18s  %s bytes for all and %s for each worker; the checksum is sound\n", "sizes",
           text_group(c->shared_bytes).text, text_group(c->worker_bytes).text);
}

static cJSON *checkpoint_json(const tithe_checkpoint *c, size_t length)
{
    char key[64], value[1200], hash[20];
    cJSON *json = json_object();
    json_text(json, "kind", "checkpoint");
    json_count(json, "step", c->step);
    json_count(json, "workers", c->workers);
    json_count(json, "n", c->n);
    json_count(json, "seed", c->seed);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)c->data_hash);
    json_text(json, "data_hash", hash);
    json_number(json, "epochs", c->epochs);
    json_number(json, "seconds", c->seconds);
    for (const tithe_counter *of = tithe_counters(); of->name; of++) {
        snprintf(key, sizeof key, "%s%s", of->name, *of->unit ? "" : "_so_far"); /* `cost` is the model's */
        if (of->flags & TITHE_COUNTER_PAID) json_number(json, key, tithe_counter_of(&c->totals, of));
    }
    json_count(json, "bytes", length);
    for (const char *line = c->text; next_line(&line, key, sizeof key, value, sizeof value);) {
        for (char *p = key; *p; p++)
            if (*p == ' ' || *p == '-') *p = '_';
        if (!cJSON_HasObjectItem(json, key)) json_text(json, key, value);
    }
    return json;
}

int inspect_checkpoint(const char *name, const uint8_t *data, size_t length, const char *json)
{
    tithe_checkpoint c = {.size = sizeof c};
    tithe_error error = {0};
    const tithe_status status = tithe_checkpoint_read(name, data, length, &c, &error);
    if (status) return text_fail_status(NULL, status, &error);
    if (json && !json_write(json, checkpoint_json(&c, length))) return EXIT_BAD;
    if (!json_alone(json)) print_checkpoint(name, &c, length);
    return EXIT_DONE;
}
