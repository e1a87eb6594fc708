/* plan_map.c - the map of winners, for the terminal and as a picture. */
#include "plan_map.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amounts.h"
#include "files.h"
#include "flags.h"
#include "text.h"

/* ---- methods: what the rows of the plan are, each with a letter and a colour ---------------------------------------- */

static const char *color_of(bool dense, size_t place)
{
    static const char *const greys[] = {"#52606d", "#7b8794", "#9aa5b1", "#cbd2d9"};
    static const char *const others[] = {"#d55e00", "#e69f00", "#009e73", "#0072b2",
                                         "#56b4e9", "#cc79a7", "#f0e442", "#994f00"};
    return dense ? greys[place % 4] : others[place % 8];
}

static bool is_taken(const plan_map *map, char letter)
{
    for (size_t i = 0; i < map->method_count; i++)
        if (map->methods[i].letter == letter) return true;
    return false;
}

/* The first letter of its names that is free, or any other: small ones for what sends dense vectors, capitals for the rest. */
static char letter_of(const plan_map *map, const tithe_plan_row *row, bool dense)
{
    char names[200];
    snprintf(names, sizeof names, "%s%s%s", dense ? "" : row->scheme, row->collective,
             row->codec ? row->codec : "");
    for (const char *c = names; *c; c++) {
        if (!isalpha((unsigned char)*c)) continue;
        const char letter = (char)(dense ? tolower((unsigned char)*c) : toupper((unsigned char)*c));
        if (!is_taken(map, letter)) return letter;
    }
    for (char letter = dense ? 'a' : 'A'; isalpha((unsigned char)letter); letter++)
        if (!is_taken(map, letter)) return letter;
    return '?';
}

static size_t method_of(const plan_map *map, const tithe_plan_row *row)
{
    size_t i = 0;
    while (i < map->method_count &&
           (strcmp(map->methods[i].scheme, row->scheme) != 0 ||
            strcmp(map->methods[i].collective, row->collective) != 0 || map->methods[i].codec != row->codec))
        i++;
    return i;
}

static void list_methods(plan_map *map, const tithe_plan_row *rows, size_t count)
{
    size_t dense_so_far = 0;
    map->method_count = 0;
    for (size_t i = 0; i < count && map->method_count < MAP_METHODS; i++) {
        const bool dense = rows[i].keep == 1 && !rows[i].codec;
        if (method_of(map, &rows[i]) < map->method_count) continue;
        const size_t place = dense ? dense_so_far++ : map->method_count - dense_so_far;
        map->methods[map->method_count] =
            (plan_method){rows[i].scheme, rows[i].collective, rows[i].codec, color_of(dense, place),
                          letter_of(map, &rows[i], dense)};
        map->method_count++;
    }
}

/* ---- the map -------------------------------------------------------------------------------------------------------- */

/* 10 us to 100 ms, and 1 Mbit/s to 100 Gbit/s. */
tithe_status plan_map_fill(const tithe_plan_request *request, plan_map *map, tithe_error *error)
{
    tithe_plan_request q = *request;
    q.link.points = NULL; /* they are of one link only */
    tithe_plan_row *rows = text_memory(tithe_plan_rows(&q) * sizeof *rows);
    tithe_status status = TITHE_OK;
    for (int i = 0; i < MAP_ROWS && !status; i++)
        for (int j = 0; j < MAP_COLUMNS && !status; j++) {
            tithe_plan plan;
            q.link.latency = map->latency[i] = 1e-5 * pow(10, i / 3.0);
            q.link.bandwidth = map->bandwidth[j] = 1e6 / 8 * pow(10, j * 5.0 / (MAP_COLUMNS - 1));
            status = tithe_plan_make(&q, rows, &plan, error);
            if (status) break;
            if (i == 0 && j == 0) list_methods(map, rows, tithe_plan_rows(&q));
            map->winner[i][j] = (unsigned char)method_of(map, &rows[plan.winner]);
        }
    free(rows);
    return status;
}

/* Does it win anywhere? Only those need a place in the legend. */
static bool is_on(const plan_map *map, size_t method)
{
    for (int i = 0; i < MAP_ROWS; i++)
        for (int j = 0; j < MAP_COLUMNS; j++)
            if (map->winner[i][j] == method) return true;
    return false;
}

/* "gather over tree", or "gather over tree: natural". */
static plan_sentence name_of(const plan_method *m)
{
    plan_sentence line;
    snprintf(line.text, sizeof line.text, "%s over %s%s%s", m->scheme, m->collective, m->codec ? ": " : "",
             m->codec ? m->codec : "");
    return line;
}

void plan_map_print(const plan_map *map, const tithe_plan_request *request)
{
    printf(
        "\nWho wins where, for %s numbers and %u workers (1 Mbit/s to 100 Gbit/s across, latency down):\n\n",
        text_group((uint64_t)request->params).text, request->workers);
    for (int i = 0; i < MAP_ROWS; i++) {
        printf("  %9s  ", amount_time(map->latency[i]).text);
        for (int j = 0; j < MAP_COLUMNS; j++) printf("%c ", map->methods[map->winner[i][j]].letter);
        printf("\n");
    }
    printf("             1M      10M     100M    1G      10G     100G\n\n ");
    for (size_t m = 0; m < map->method_count; m++)
        if (is_on(map, m)) printf("  %c %s", map->methods[m].letter, name_of(&map->methods[m]).text);
    printf("\n");
}

plan_sentence plan_flags(const tithe_plan_row *row)
{
    plan_sentence line;
    flags_list(row->options, line.text, sizeof line.text);
    return line;
}

bool plan_crowds(const tithe_plan_row *row)
{
    return row->network_most > row->network_seconds;
}

plan_sentence plan_at_most(const tithe_plan_row *row)
{
    plan_sentence line = {""};
    if (plan_crowds(row))
        snprintf(line.text, sizeof line.text, ", at most %s",
                 amount_time(row->network_most + row->codec_seconds).text);
    return line;
}

plan_sentence plan_break_even(const tithe_plan *plan)
{
    plan_sentence line;
    if (plan->break_even == 0)
        snprintf(line.text, sizeof line.text, "At this latency compression never pays.");
    else if (isinf(plan->break_even))
        snprintf(line.text, sizeof line.text, "At this latency compression pays at any bandwidth.");
    else
        snprintf(line.text, sizeof line.text, "At this latency compression pays below %s.",
                 amount_bandwidth(plan->break_even).text);
    return line;
}

/* ---- the page ------------------------------------------------------------------------------------------------ */

typedef struct page {
    char *text;
    size_t used, room;
} page;

static void add(page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(page *p, const char *format, ...)
{
    for (;;) {
        va_list arguments;
        va_start(arguments, format);
        const int length = vsnprintf(p->text + p->used, p->room - p->used, format, arguments);
        va_end(arguments);
        if (length >= 0 && (size_t)length < p->room - p->used) {
            p->used += (size_t)length;
            return;
        }
        char *more = text_memory(2 * p->room);
        memcpy(more, p->text, p->used);
        free(p->text);
        p->text = more;
        p->room *= 2;
    }
}

static void add_map(page *p, const plan_map *map)
{
    enum { CELL = 34, LEFT = 80, TOP = 10 };
    add(p, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"winner by latency and bandwidth\">",
        LEFT + CELL * MAP_COLUMNS + 10, TOP + CELL * MAP_ROWS + 50);
    for (int i = 0; i < MAP_ROWS; i++) {
        add(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>", LEFT - 8, TOP + CELL * i + 22,
            amount_time(map->latency[i]).text);
        for (int j = 0; j < MAP_COLUMNS; j++) {
            const plan_method *winner = &map->methods[map->winner[i][j]];
            add(p,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"><title>%s, %s: "
                "%s</title></rect>",
                LEFT + CELL * j, TOP + CELL * i, CELL - 1, CELL - 1, winner->color,
                amount_time(map->latency[i]).text, amount_bandwidth(map->bandwidth[j]).text,
                name_of(winner).text);
        }
    }
    for (int j = 0; j < MAP_COLUMNS; j += 4)
        add(p, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>", LEFT + CELL * j + CELL / 2,
            TOP + CELL * MAP_ROWS + 20, amount_bandwidth(map->bandwidth[j]).text);
    add(p, "</svg><p class=\"legend\">");
    for (size_t m = 0; m < map->method_count; m++)
        if (is_on(map, m))
            add(p, "<span><i style=\"background:%s\"></i>%s</span>", map->methods[m].color,
                name_of(&map->methods[m]).text);
    add(p, "</p>");
}

static void add_rows(page *p, const tithe_plan_row *rows, size_t count, const tithe_plan *plan)
{
    add(p, "<table><tr><th>scheme</th><th>collective</th><th>keep</th><th>transfer</th><th>codec</th><th>in "
           "all</th></tr>");
    for (size_t i = 0; i < count; i++)
        add(p,
            "<tr%s title=\"tithe train "
            "%s\"><td>%s</td><td>%s</td><td>%g%s%s</td><td>%s</td><td>%s</td><td>%s%s</td></tr>",
            i == plan->winner ? " class=\"winner\"" : "", plan_flags(&rows[i]).text, rows[i].scheme,
            rows[i].collective, rows[i].keep, rows[i].codec ? " " : "", rows[i].codec ? rows[i].codec : "",
            amount_time(rows[i].network_seconds).text, amount_time(rows[i].codec_seconds).text,
            amount_time(rows[i].seconds).text, plan_at_most(&rows[i]).text);
    add(p, "</table>");
}

bool plan_page_write(const char *path, const plan_map *map, const tithe_plan_request *request,
                     const tithe_plan_row *rows, const tithe_plan *plan)
{
    page p = {.text = text_memory(1 << 16), .room = 1 << 16};
    add(&p,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width\">"
        "<title>tithe plan</title><style>:root{color-scheme:light dark}body{font:16px "
        "system-ui,sans-serif;max-width:760px;"
        "margin:2em auto;padding:0 1em}svg{width:100%%}svg "
        "text{font-size:13px;fill:currentColor}table{border-collapse:collapse;"
        "width:100%%}td,th{padding:.3em .6em;text-align:right;border-bottom:1px solid "
        "#8884}td:nth-child(-n+2),"
        "th:nth-child(-n+2){text-align:left}.winner{font-weight:bold}.legend "
        "span{margin-right:1.2em;white-space:nowrap}"
        ".legend i{display:inline-block;width:.9em;height:.9em;margin-right:.4em;border-radius:2px}</style>");
    add(&p, "<h1>What a step costs</h1><p>%s numbers, %u workers, latency %s, bandwidth %s.</p>",
        text_group((uint64_t)request->params).text, request->workers, amount_time(request->link.latency).text,
        amount_bandwidth(request->link.bandwidth).text);
    add_rows(&p, rows, tithe_plan_rows(request), plan);
    add(&p,
        "<p>The fastest is a step of <code>tithe train %s</code>; each row shows its own under the "
        "pointer.</p>",
        plan_flags(&rows[plan->winner]).text);
    add(&p, "<p>%s</p><h2>Who wins where</h2>", plan_break_even(plan).text);
    add_map(&p, map);
    add(&p, "<p>The fastest way with the levels above, codec included; latency one way down, bandwidth "
            "across.</p></html>\n");
    const bool written = file_write(path, p.text, p.used);
    free(p.text);
    return written;
}
