/* run_options.c - what makes a run: the one table of its options. Everything that parses, compares, saves or explains them
 * walks it, so an option that is added here is added everywhere. */
#include "learn/run_options.h"

#include "exchange/options.h"

#include <math.h>

#define OPTIONS tithe_train_options
#define PLACE OPTION_PLACE

enum {
    AGREES = TITHE_OPTION_AGREES,
    EVERYWHERE = TITHE_OPTION_EVERYWHERE,
    SAVED = TITHE_OPTION_SAVED,
    CHANGES = TITHE_OPTION_CHANGES,
    PARTS = TITHE_OPTION_PARTS,
    LATER = TITHE_OPTION_LATER,
    /* What shapes the steps: the same everywhere and to the end; and of that what the server of a star does with them. */
    SHAPES = AGREES | SAVED,
    SHAPES_MESSAGES = OPTION_SHAPES_MESSAGES,
    ENDS = AGREES | SAVED | CHANGES | TITHE_OPTION_ENDS
};

static const tithe_option table[] = {
    /* ---- the problem. How data is read shows in its contents, which the handshake compares besides. */
    {"data", "NAME|FILE",
     "a file (LIBSVM text or IDX images, plain or .gz, .bz2, .xz), a name in the directory TITHE_DATA, or "
     "one "
     "of `tithe list data`",
     NULL, TITHE_OPTION_TEXT, SHAPES | LATER, PLACE(data)},
    {"positive", "TEST", "labels that become +1, such as 'label<=10'", NULL, TITHE_OPTION_TEXT,
     SHAPES | CHANGES, PLACE(reading.positive)},
    {"normalize", "none|rows", "scale each row to length 1", "none", TITHE_OPTION_CHOICE, SHAPES | CHANGES,
     PLACE(reading.normalize_rows), .choices = "none|rows"},
    {"features", "D", "at least so many features (default: the highest index)", NULL, TITHE_OPTION_WHOLE,
     SAVED | CHANGES, PLACE(reading.features), .min = 1, .max = 4294967295u},
    {"max-memory", "BYTES",
     "refuse data that takes more memory, such as 4GB (default: half of what the machine has left)", NULL,
     TITHE_OPTION_BYTES, 0, PLACE(reading.max_memory), .min = 1},
    {"model", "SPEC", "logistic, least-squares, nonconvex-logistic or mlp", "logistic", TITHE_OPTION_TEXT,
     SHAPES | LATER, PLACE(model)},
    {"l2", "X", "weight of the penalty (default L/10000)", NULL, TITHE_OPTION_REAL, SHAPES | LATER, PLACE(l2),
     .real_min = 0, .real_max = 1e12, .unset = -1},
    {"workers", "N", "workers that share the data", "1", TITHE_OPTION_WHOLE, SHAPES_MESSAGES, PLACE(workers),
     .min = 1, .max = 100000},
    {"split", "shuffled|contiguous|sorted", "which rows a worker gets", "shuffled", TITHE_OPTION_CHOICE,
     SHAPES, PLACE(split), .choices = "shuffled|contiguous|sorted"},

    /* ---- the method */
    {"estimator", "NAME", "full, sgd, minibatch or lsvrg", "full", TITHE_OPTION_TEXT, SHAPES,
     PLACE(estimator)},
    {"sampling", "HOW", "uniform, importance, or file:PATH with a weight for each row", "uniform",
     TITHE_OPTION_TEXT, SHAPES | LATER, PLACE(sampling)},
    {"batch", "B", "rows per worker and step: minibatch:batch=B (default 32)", NULL, TITHE_OPTION_WHOLE,
     SHAPES | LATER, PLACE(batch), .min = 1, .max = 1u << 30},
    {"local-steps", "H", "steps of a worker between two messages", "1", TITHE_OPTION_WHOLE, SHAPES,
     PLACE(local_steps), .min = 1, .max = 1000000},
    {"average", "HOW", "none, tail or weighted: iterates that are averaged, besides the last one", "none",
     TITHE_OPTION_TEXT, SHAPES, PLACE(average)},
    {"momentum", "M", "of each worker, before feedback", "0", TITHE_OPTION_REAL, SHAPES, PLACE(momentum),
     .real_min = 0, .real_max = 0.9999},
    {"step-size", "X", "auto, a number, X/k, or decay:start=X,factor=F,every=STEPS", "auto",
     TITHE_OPTION_TEXT, SHAPES | CHANGES, PLACE(step_size)},
    {"steps", "K", "end after so many steps", NULL, TITHE_OPTION_WHOLE, ENDS, PLACE(steps), .min = 1,
     .max = UINT64_MAX},
    {"epochs", "E", "end after so many passes over the data", NULL, TITHE_OPTION_REAL, ENDS, PLACE(epochs),
     .real_min = 1e-9, .real_max = 1e9},
    {"target-loss", "X", "end at this loss; exit status 1 if it is not reached", NULL, TITHE_OPTION_REAL,
     ENDS, PLACE(target_loss), .real_min = -1e300, .real_max = 1e300, .unset = NAN},
    {"target-gap", "X", "end when loss - minimum is at most X", NULL, TITHE_OPTION_REAL, ENDS,
     PLACE(target_gap), .real_min = 0, .real_max = 1e300, .unset = NAN},
    {"seed", "S", "of all that is random", "1", TITHE_OPTION_WHOLE, SHAPES_MESSAGES, PLACE(seed),
     .max = UINT64_MAX},
    {"no-optimum", NULL, "do not look for the minimum: faster to start, no gap", NULL, TITHE_OPTION_FLAG,
     SHAPES | CHANGES, PLACE(no_optimum)},
    {"exact", NULL, "look for it over mpi and zmq, too, where the first rank does while the others wait",
     NULL, TITHE_OPTION_FLAG, SHAPES | CHANGES, PLACE(exact)},

/* ---- messages */
#include "exchange/option_rows.h"
    {"clients", "N/round", "so many workers, drawn anew, take part in each step (default all)", NULL,
     TITHE_OPTION_CLIENTS, SHAPES_MESSAGES, PLACE(clients), .min = 1, .max = 100000},
    {"network", "SPEC",
     "compute the time on a network instead of taking it: latency=1ms,bandwidth=100Mbit,compute=10ms, C1, "
     "C2, "
     "or a schedule file",
     NULL, TITHE_OPTION_TEXT, SHAPES | CHANGES, PLACE(network)},
    {"threads", "N", "threads (default: TITHE_THREADS, or all processors)", NULL, TITHE_OPTION_WHOLE, 0,
     PLACE(threads), .min = 1, .max = 256},
    /* ---- parts of a run */
    {"checkpoint", "FILE", "write the state of the run there when it ends or is stopped", NULL,
     TITHE_OPTION_TEXT, EVERYWHERE | PARTS, PLACE(checkpoint)},
    {"every", "K", "and also after every K steps", NULL, TITHE_OPTION_WHOLE, AGREES | PARTS, PLACE(every),
     .min = 1, .max = UINT64_MAX},
    {"resume", "FILE",
     "go on where this checkpoint was written, with its options; on any transport, with as many workers",
     NULL, TITHE_OPTION_TEXT, EVERYWHERE | PARTS, PLACE(resume)},
    {.name = NULL},
};

const tithe_option *tithe_train_option_table(void)
{
    return table;
}
