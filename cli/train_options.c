/* train_options.c - see train_options.h. */
#include "train_options.h"

#include <math.h>
#include <string.h>

#include "amounts.h"
#include "text.h"

train_settings train_settings_defaults(void)
{
    return (train_settings){
        .run = tithe_train_defaults(), .workers = 1, .batch = 32, .local_steps = 1, .transport = "inproc"};
}

static size_t problem_options(train_settings *s, option *o)
{
    size_t n = 0;
    o[n++] = option_text("data", "NAME|FILE",
                         "a file (LIBSVM text or IDX images, plain or .gz, .bz2, .xz), a name in "
                         "the directory TITHE_DATA, or one of `tithe list data`",
                         &s->run.data);
    o[n++] = option_text("positive", "TEST", "labels that become +1, such as 'label<=10'",
                         &s->run.reading.positive);
    o[n++] =
        option_choice("normalize", "none|rows", "scale each row to length 1 (default none)", &s->normalize);
    o[n++] = option_number("features", "D", "at least so many features (default: the highest index)", 1,
                           4294967295u, &s->features);
    o[n++] =
        option_text("model", "SPEC", "logistic, least-squares, nonconvex-logistic or mlp (default logistic)",
                    &s->run.model);
    o[n++] = option_real("l2", "X", "weight of the penalty (default L/10000)", 0, 1e12, &s->run.l2);
    o[n++] = option_number("workers", "N", "workers that share the data (default 1)", 1, 100000, &s->workers);
    o[n++] = option_choice("split", "shuffled|contiguous|sorted",
                           "which rows a worker gets (default shuffled)", &s->split);
    return n;
}

static size_t method_options(train_settings *s, option *o)
{
    size_t n = 0;
    o[n++] =
        option_text("estimator", "NAME", "full, sgd, minibatch or lsvrg (default full)", &s->run.estimator);
    o[n++] = option_text("sampling", "HOW", "uniform, importance, or a file with a weight for each row",
                         &s->run.sampling);
    o[n++] = option_number("batch", "B", "rows per worker and step, for minibatch (default 32)", 1, 1u << 30,
                           &s->batch);
    o[n++] = option_number("local-steps", "H", "steps of a worker between two messages (default 1)", 1,
                           1000000, &s->local_steps);
    o[n++] = option_text("average", "HOW",
                         "none, tail or weighted: iterates that are averaged, besides the last one",
                         &s->run.average);
    o[n++] = option_real("momentum", "M", "of each worker, before feedback (default 0)", 0, 0.9999,
                         &s->run.momentum);
    o[n++] = option_text("step-size", "X",
                         "auto, a number, X/k, or decay:start=X,factor=F,every=STEPS (default auto)",
                         &s->run.step_size);
    o[n++] = option_number("steps", "K", "end after so many steps", 1, UINT64_MAX, &s->run.steps);
    o[n++] = option_real("epochs", "E", "end after so many passes over the data", 1e-9, 1e9, &s->run.epochs);
    o[n++] = option_real("target-loss", "X", "end at this loss; exit status 1 if it is not reached", -1e300,
                         1e300, &s->run.target_loss);
    o[n++] =
        option_real("target-gap", "X", "end when loss - minimum is at most X", 0, 1e300, &s->run.target_gap);
    o[n++] = option_u64("seed", "S", "of all that is random (default 1)", &s->run.seed);
    o[n++] =
        option_flag("no-optimum", "do not look for the minimum: faster to start, no gap", &s->run.no_optimum);
    return n;
}

static size_t message_options(train_settings *s, option *o)
{
    size_t n = 0;
    o[n++] = option_text("codec", "SPEC",
                         "how messages are compressed, such as 'topk:keep=0.01|natural' (default "
                         "all|raw); without a level, the tuner chooses one",
                         &s->run.codec);
    o[n++] = option_text(
        "downlink", "SPEC",
        "the same for the way back from the server; without a level, the server tunes its own message",
        &s->run.downlink);
    o[n++] =
        option_text("feedback", "NAME", "none, ec or ef21 (default: ec for biased codecs)", &s->run.feedback);
    o[n++] =
        option_text("downlink-feedback", "NAME", "the server's own: none or ec", &s->run.downlink_feedback);
    o[n++] =
        option_text("scheme", "NAME", "auto, dense, gather, star or artopk (default auto)", &s->run.scheme);
    o[n++] =
        option_text("collective", "NAME",
                    "auto, or what the scheme can use: ring, tree, star, direct, allgather, or native, the "
                    "MPI library's own",
                    &s->run.collective);
    o[n++] = option_text("leader", "HOW",
                         "of artopk: round-robin, variance (who selected the most energy) or auto (default "
                         "round-robin)",
                         &s->run.leader);
    o[n++] =
        option_text("bucket", "off|layer|SIZE",
                    "send a step in several messages: one for each layer, or layers fused and cut to SIZE "
                    "such as 1MiB; codec and level are each message's own (default off)",
                    &s->bucket);
    o[n++] = option_choice("overlap", "on|off",
                           "with --bucket: send one while the next is encoded (default on)", &s->overlap);
    o[n++] = option_text(
        "tuner", "NAME",
        "fixed: the level that the codec states; cat: in each step the one that buys the most progress "
        "per cost (default: cat if the codec leaves it open)",
        &s->run.tuner);
    o[n++] = option_choice(
        "level", "local|shared",
        "tuned: a level for each worker, or one for all, from the sum of what it buys them (default local)",
        &s->level);
    o[n++] = option_text("cost", "SPEC",
                         "what a message costs, see `tithe list costs` (default bits); several with "
                         "semicolons between them are given to the workers in turn",
                         &s->run.cost);
    o[n++] = option_text("clients", "N/round",
                         "so many workers, drawn anew, take part in each step (default all)", &s->clients);
    o[n++] = option_choice("count", "frame|paper",
                           "what is charged: real frames or the papers' bits (default frame)", &s->count);
    o[n++] = option_text("network", "SPEC",
                         "compute the time on a network instead of taking it: latency=1ms,bandwidth=100Mbit,"
                         "compute=10ms, C1, C2, or a schedule file",
                         &s->run.network);
    o[n++] = option_number("threads", "N", "threads (default: TITHE_THREADS, or all processors)", 1, 256,
                           &s->threads);
    o[n++] = option_flag("deterministic", "refuse what cannot promise the same result everywhere",
                         &s->run.deterministic);
    return n;
}

/* How a run is spread over processes: not for the lines of a comparison. */
size_t train_process_options(train_settings *s, option *o)
{
    size_t n = 0;
    o[n++] = option_text("transport", "NAME",
                         "inproc: all workers in this process (default); mpi: one in each process of "
                         "mpirun; zmq: one in each process of the following",
                         &s->transport);
    o[n++] = option_number("local", "N", "zmq: start N workers and a server here", 1, 1000, &s->local);
    o[n++] = option_text("role", "server|worker", "zmq: what this process is", &s->role);
    o[n++] = option_text("listen", "ENDPOINT", "zmq server: where, such as tcp://*:5555", &s->listen);
    o[n++] = option_text("connect", "ENDPOINT",
                         "zmq worker: where the server is, such as tcp://10.0.0.1:5555", &s->connect);
    o[n++] = option_real("deadline", "SECONDS", "the longest that one process waits for another (default 30)",
                         0.1, 1e6, &s->deadline);
    o[n++] = option_text("checkpoint", "FILE", "write the state of the run there when it ends or is stopped",
                         &s->run.checkpoint);
    o[n++] = option_number("every", "K", "and also after every K steps", 1, UINT64_MAX, &s->run.every);
    o[n++] = option_text("resume", "FILE",
                         "go on where this checkpoint was written; on any transport, with as many workers",
                         &s->run.resume);
    return n;
}

size_t train_options_table(train_settings *s, option *table)
{
    size_t n = problem_options(s, table);
    n += method_options(s, table + n);
    n += message_options(s, table + n);
    return n;
}

static bool read_bucket(const char *text, size_t *bytes)
{
    double size = 0;
    *bytes = strcmp(text, "layer") == 0 ? TITHE_EACH_LAYER : 0;
    if (*bytes || strcmp(text, "off") == 0) return true;
    if (amount_bytes(text, &size) && size >= 64 && size <= 1e15) {
        *bytes = (size_t)size;
        return true;
    }
    text_fail("--bucket takes off, layer, or a size of at least 64 bytes such as 1MiB, not '%s'", text);
    return false;
}

bool train_options_finish(train_settings *s)
{
    tithe_train_options *o = &s->run;
    const bool serves = s->role && strcmp(s->role, "server") == 0;
    if (!o->data && !serves) {
        text_fail("Name the data: --data FILE, or a set that needs no file, such as --data w8a-like");
        return false;
    }
    if (o->every && !o->checkpoint) {
        text_fail("--every says how often, but not where to: add --checkpoint FILE");
        return false;
    }
    if (s->bucket && !read_bucket(s->bucket, &o->bucket_bytes)) return false;
    o->overlap = s->overlap == 0;
    if (s->local) s->workers = s->local; /* all of them are started here */
    if (s->clients) {
        char number[32];
        uint64_t clients;
        const size_t length = strcspn(s->clients, "/");
        snprintf(number, sizeof number, "%.*s", (int)length, s->clients);
        const bool fine = s->clients[length] == 0 || strcmp(s->clients + length, "/round") == 0;
        if (!fine || !options_number(number, 1, s->workers, &clients)) {
            text_fail(
                "--clients takes how many of the %s workers take part in a step, such as 5/round, not '%s'",
                text_group(s->workers).text, s->clients);
            return false;
        }
        o->clients = (unsigned)clients;
    }
    o->shared_level = s->level == 1;
    o->workers = (unsigned)s->workers;
    o->batch = (size_t)s->batch;
    o->local_steps = (unsigned)s->local_steps;
    o->threads = (unsigned)s->threads;
    o->split = (tithe_split)s->split;
    o->count_paper = s->count == 1;
    o->reading.normalize_rows = s->normalize == 1;
    o->reading.features = (size_t)s->features;
    return true;
}
