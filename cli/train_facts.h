/* train_facts.h - what a run tells of itself, under the same keys in its trace and in JSON. */
#ifndef TITHE_CLI_TRAIN_FACTS_H
#define TITHE_CLI_TRAIN_FACTS_H

#include "json.h"
#include "tithe/learn.h"

/* The fact with this key, for a trace; false: it is not known. Before the first step the result has nothing but its `facts`. */
bool train_fact(const tithe_train_result *result, const char *key, char *text, size_t room);

/* All that a run has to answer. What is not known is null. */
cJSON *train_facts_json(const tithe_train_result *result);

#endif
