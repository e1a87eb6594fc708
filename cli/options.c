/* options.c - see options.h. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flags.h"
#include "text.h"

/* ---- rows of a table ---------------------------------------------------------------------------------- */

option option_text(const char *name, const char *argument, const char *doc, const char **target)
{
    return (option){.name = name, .argument = argument, .doc = doc, .kind = OPTION_TEXT, .target = target};
}

option option_number(const char *name, const char *argument, const char *doc, uint64_t min, uint64_t max,
                     uint64_t *target)
{
    return (option){.name = name,
                    .argument = argument,
                    .doc = doc,
                    .kind = OPTION_NUMBER,
                    .target = target,
                    .min = min,
                    .max = max};
}

option option_real(const char *name, const char *argument, const char *doc, double min, double max,
                   double *target)
{
    return (option){.name = name,
                    .argument = argument,
                    .doc = doc,
                    .kind = OPTION_REAL,
                    .target = target,
                    .real_min = min,
                    .real_max = max};
}

option option_u32(const char *name, const char *argument, const char *doc, uint64_t *target)
{
    return option_number(name, argument, doc, 0, UINT32_MAX, target);
}

option option_u64(const char *name, const char *argument, const char *doc, uint64_t *target)
{
    return option_number(name, argument, doc, 0, UINT64_MAX, target);
}

option option_choice(const char *name, const char *choices, const char *doc, int *target)
{
    return (option){.name = name,
                    .argument = choices,
                    .doc = doc,
                    .kind = OPTION_CHOICE,
                    .target = target,
                    .choices = choices};
}

option option_flag(const char *name, const char *doc, bool *target)
{
    return (option){.name = name, .doc = doc, .kind = OPTION_FLAG, .target = target};
}

option option_run(const tithe_option *row, tithe_train_options *target)
{
    return (option){.name = row->name,
                    .argument = row->argument,
                    .doc = row->doc,
                    .fallback = row->fallback,
                    .kind = OPTION_RUN,
                    .target = target};
}

option option_run_named(const char *name, tithe_train_options *target)
{
    const tithe_option *row = tithe_train_option_table();
    while (row->name && strcmp(row->name, name) != 0) row++;
    return option_run(row, target);
}

option option_json(const char **target)
{
    return option_text(
        "json", "FILE",
        "also write the answer as JSON to FILE; - is standard output, which then holds nothing else", target);
}

option option_end(void)
{
    return (option){.name = NULL};
}

/* ---- help --------------------------------------------------------------------------------------------- */

static size_t option_width(const option *o)
{
    return 2 + strlen(o->name) + (o->argument ? 1 + strlen(o->argument) : 0);
}

static const char *verb_of(const command *c)
{
    return c->verb ? c->verb : text_verb();
}

static const char *doc_of(const option *o, char *room, size_t size)
{
    flags_say(o->doc, room, size);
    const size_t used = strlen(room);
    if (o->fallback) snprintf(room + used, size - used, " (default %s)", o->fallback);
    return room;
}

static void help(const command *c)
{
    char doc[512];
    printf("usage: tithe %s%s%s [options]\n\n", verb_of(c), *c->positionals ? " " : "", c->positionals);
    text_wrap(stdout, 0, 0, c->summary);

    size_t widest = strlen("--help");
    for (const option *o = c->options; o->name; o++)
        if (option_width(o) > widest) widest = option_width(o);

    printf("\nOptions:\n");
    for (const option *o = c->options; o->name; o++) {
        const int filled =
            printf("  --%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        printf("%*s", (int)(widest + 4) - filled, "");
        text_wrap(stdout, widest + 4, widest + 4, doc_of(o, doc, sizeof doc));
    }
    printf("  %-*sthis page\n", (int)widest + 2, "--help");
    printf("\nExamples:\n%s\n", c->examples);
}

/* ---- values ------------------------------------------------------------------------------------------- */

bool options_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    if (!*text) return false;
    uint64_t number = 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        const uint64_t digit = (uint64_t)(*text - '0');
        if (number > (UINT64_MAX - digit) / 10) return false;
        number = number * 10 + digit;
    }
    if (number < min || number > max) return false;
    *value = number;
    return true;
}

bool options_sizes(const char *name, const char *text, size_t **sizes, size_t *count)
{
    size_t room = 1;
    for (const char *c = text; *c; c++) room += *c == ',';
    size_t *out = text_memory(room * sizeof *out);
    char *copy = text_copy(text);
    bool fine = true;
    size_t filled = 0;

    for (char *part = copy; fine && part;) {
        char *comma = strchr(part, ',');
        if (comma) *comma = 0;
        uint64_t value = 0;
        fine = options_number(part, 0, TITHE_MAX_N, &value);
        if (fine)
            out[filled++] = (size_t)value;
        else
            text_fail("--%s takes whole numbers with commas between them, such as 100,200,50, but has '%s'",
                      name, part);
        part = comma ? comma + 1 : NULL;
    }
    free(copy);
    if (!fine) {
        free(out);
        return false;
    }
    *sizes = out;
    *count = filled;
    return true;
}

static bool take_of_run(const option *o, const char *value)
{
    tithe_error error = {0};
    const tithe_status status = tithe_train_options_set(o->target, o->name, value, &error);
    if (status) text_fail_status(NULL, status, &error);
    return !status;
}

static bool takes_no_value(const option *o)
{
    return o->kind == OPTION_FLAG || (o->kind == OPTION_RUN && !o->argument);
}

static bool take_flag(const option *o)
{
    if (o->kind == OPTION_RUN) return take_of_run(o, NULL);
    *(bool *)o->target = true;
    return true;
}

static bool take_value(const option *o, const char *value)
{
    switch (o->kind) {
    case OPTION_RUN:
        if (!*value) break;
        return take_of_run(o, value);
    case OPTION_TEXT:
        if (!*value) break;
        *(const char **)o->target = value;
        return true;
    case OPTION_NUMBER:
        if (options_number(value, o->min, o->max, o->target)) return true;
        text_fail("--%s takes a whole number from %s to %s, not '%s'", o->name, text_group(o->min).text,
                  text_group(o->max).text, value);
        return false;
    case OPTION_REAL: {
        char *end;
        const double number = strtod(value, &end);
        if (*value && !*end && number >= o->real_min && number <= o->real_max) {
            *(double *)o->target = number;
            return true;
        }
        text_fail("--%s takes a number from %g to %g, not '%s'", o->name, o->real_min, o->real_max, value);
        return false;
    }
    case OPTION_CHOICE: {
        const int place = tithe_option_choice(o->choices, value);
        if (place < 0) {
            text_fail("--%s takes one of %s, not '%s'", o->name, o->choices, value);
            return false;
        }
        *(int *)o->target = place;
        return true;
    }
    case OPTION_FLAG: break;
    }
    text_fail("--%s needs a value that is not empty: --%s %s", o->name, o->name, o->argument);
    return false;
}

/* ---- the command line --------------------------------------------------------------------------------- */

enum {
    MAX_OPTIONS = 128,
    FIRST_ROW = 256 /* what getopt_long answers for the first row of a table: above every character */
};

static void unknown(const command *c, const char *word)
{
    const char *names[MAX_OPTIONS + 2] = {NULL};
    size_t count = 0;
    while (count < MAX_OPTIONS && c->options[count].name) names[count] = c->options[count].name, count++;
    names[count] = "help"; /* the last: of two that are equally near, the first is named */

    char bare[64];
    while (*word == '-') word++;
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
    text_fail("There is no option '--%s', the nearest is --%s; 'tithe %s --help' lists them all", bare,
              text_nearest(bare, names), verb_of(c));
}

/* What getopt_long answered to a word with a dash. False after a complaint. */
static bool take_option(const command *c, int answer, const char *word)
{
    const int row = answer == '?' || answer == ':' ? optopt : answer;
    const option *o = row >= FIRST_ROW ? &c->options[row - FIRST_ROW] : NULL;
    const char *equals = strchr(word, '=');
    /* It takes "--se" for --seed; in a script that would end with the first option that also starts so. */
    if (!o || strlen(o->name) != strcspn(word + 2, "=")) {
        unknown(c, word);
        return false;
    }
    if (answer == '?') {
        text_fail("--%s takes no value; leave '%s' out", o->name, equals);
        return false;
    }
    /* "--json --seed 3" is a forgotten value, not a file called --seed. */
    if (answer == ':' || (optarg && !equals && strncmp(optarg, "--", 2) == 0)) {
        text_fail("--%s needs a value behind it: --%s %s", o->name, o->name, o->argument);
        return false;
    }
    return takes_no_value(o) ? take_flag(o) : take_value(o, optarg);
}

/* Options to their targets, the rest to the front of argv. Returns how many that are; -1 after a complaint. */
static int take_words(const command *c, int argc, char **argv)
{
    struct option names[MAX_OPTIONS + 1] = {{0}};
    for (int i = 0; i < MAX_OPTIONS && c->options[i].name; i++)
        names[i] = (struct option){c->options[i].name,
                                   takes_no_value(&c->options[i]) ? no_argument : required_argument, NULL,
                                   FIRST_ROW + i};
    /* getopt_long passes over the first word, and wants a NULL behind the last. */
    char **words = text_memory(((size_t)argc + 2) * sizeof *words);
    words[0] = words[argc + 1] = NULL;
    memcpy(words + 1, argv, (size_t)argc * sizeof *words);

    int kept = 0, answer = 0;
    optind = 0; /* it keeps its place in globals; this starts anew */
    do {
        const char *word = words[optind ? optind : 1];
        answer =
            getopt_long(argc + 1, words, "-:", names, NULL); /* in order, and leaving the complaints to us */
        if (answer == 1)
            argv[kept++] = optarg;
        else if (answer > 0 && !take_option(c, answer, word))
            kept = -1;
    } while (kept >= 0 && answer >= 0);
    while (kept >= 0 && optind <= argc) argv[kept++] = words[optind++]; /* behind -- */
    free(words);
    return kept;
}

bool options_parse(const command *c, int argc, char **argv, int *count, int *status)
{
    /* Asking for help wins over every mistake on the same line. */
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            help(c);
            *status = EXIT_DONE;
            return false;
        }
    }

    *status = EXIT_BAD;
    const int kept = take_words(c, argc, argv);
    if (kept < 0) return false;
    if (kept < c->min || (c->max >= 0 && kept > c->max)) {
        if (kept > c->max && c->max >= 0)
            text_fail("'%s' is one argument too many; usage: tithe %s%s%s [options]", argv[c->max],
                      verb_of(c), *c->positionals ? " " : "", c->positionals);
        else
            text_fail("An argument is missing; usage: tithe %s %s [options]", verb_of(c), c->positionals);
        return false;
    }
    *count = kept;
    *status = EXIT_DONE;
    return true;
}
