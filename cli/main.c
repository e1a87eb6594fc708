/* main.c - tithe: gradients as packed bytes, from the command line.
 *
 * A verb is one row of the table below and one function in a file of its own; --help, the answer to an unknown
 * verb and the dispatch all read the same table. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "text.h"
#include "verbs.h"

typedef struct verb {
    const char *name, *summary;
    verb_run run;
} verb;

static const verb verbs[] = {
    {"list", "show every variant with its parameters, its paper and what it promises", cmd_list},
    {"check", "measure what codecs claim: bias, error, bytes", cmd_check},
    {"encode", "turn a file of floats into a frame", cmd_encode},
    {"decode", "turn a frame back into a file of floats", cmd_decode},
    {"inspect", "explain a frame section by section, or a trace", cmd_inspect},
    {"train", "train a model over workers that send compressed messages", cmd_train},
    {"compare", "train several ways on the same problem, with one report", cmd_compare},
    {"switch", "add the gradients of workers while they pass", cmd_switch},
    {"probe", "measure latency and bandwidth over a transport", cmd_probe},
    {"advise", "try codecs on your data and link for a few seconds, and say which one to take", cmd_advise},
    {"plan", "say what a step will cost on a link, and whether compression pays", cmd_plan},
    {"report", "draw the traces of runs on one HTML page", cmd_report},
    {"bench", "measure how fast it is here, beside memcpy and a plain read", cmd_bench},
};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

static void help(void)
{
    printf("usage: tithe VERB [arguments] [options]\n\n"
           "Tithe makes distributed learning cheap to communicate: it turns gradients into packed bytes.\n\n"
           "Verbs:\n");
    for (size_t i = 0; i < VERBS; i++) printf("  %-10s%s\n", verbs[i].name, verbs[i].summary);
    printf("\n'tithe VERB --help' says more about one of them; 'tithe --version' prints the version.\n\n"
           "Examples:\n"
           "  tithe train --data w8a-like --workers 20 --codec topk:keep=0.01\n"
           "  tithe list\n"
           "  tithe encode 'topk:keep=0.01|natural' gradient.f32 gradient.frame\n"
           "  tithe decode gradient.frame back.f32\n");
}

static int unknown(const char *word)
{
    const char *names[VERBS + 1];
    char list[256];
    size_t used = 0;
    for (size_t i = 0; i < VERBS; i++) {
        names[i] = verbs[i].name;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", verbs[i].name);
    }
    names[VERBS] = NULL;
    if (!word) return text_fail("Say what to do: %s; 'tithe --help' explains them", list);
    return text_fail("There is no verb '%s', the nearest is %s; the verbs are %s", word,
                     text_nearest(word, names), list);
}

static int run(int argc, char **argv)
{
    if (argc < 2) return unknown(NULL);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        help();
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tithe %s\n", tithe_version());
        return EXIT_DONE;
    }
    for (size_t i = 0; i < VERBS; i++) {
        if (strcmp(argv[1], verbs[i].name) == 0) {
            text_set_verb(verbs[i].name);
            return verbs[i].run(argc - 2, argv + 2);
        }
    }
    return unknown(argv[1]);
}

int main(int argc, char **argv)
{
    const int status = run(argc, argv);
    /* A full disk must not look like success. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && status != EXIT_BAD)
        return text_fail("Cannot write to standard output: %s", strerror(errno));
    return status;
}
