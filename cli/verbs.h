/* verbs.h - the verbs of the tool, one cmd_*.c each. main.c holds the table. */
#ifndef TITHE_CLI_VERBS_H
#define TITHE_CLI_VERBS_H

/* argv starts behind the verb. The result is the exit status: 0 done, 1 the answer is no, 2 bad input. */
typedef int (*verb_run)(int argc, char **argv);

int cmd_list(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_encode(int argc, char **argv);
int cmd_decode(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_train(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_advise(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_switch(int argc, char **argv);

#endif
