/* option_rows.h - how messages are made and sent, as rows of a table of options: for the one of an exchange (options.c) and for
 * that of a run (learn/run_options.c), whose structs have the same fields. No guard: it is included inside each table. */
/* clang-format off */
    {"codec", "SPEC",
     "how messages are compressed, such as 'topk:keep=0.01|natural'; without a level, the tuner chooses "
     "one",
     "all|raw", TITHE_OPTION_TEXT, OPTION_SHAPES_MESSAGES, OPTION_PLACE(codec)},
    {"downlink", "SPEC",
     "the same for the way back, from a server or from the owners of parts (default: raw, under shards as `codec`); "
     "without a level, the server tunes its own message",
     NULL, TITHE_OPTION_TEXT, OPTION_SHAPES_MESSAGES, OPTION_PLACE(downlink)},
    {"feedback", "NAME",
     "none, ec or ef21 (default: ec for biased codecs)",
     NULL, TITHE_OPTION_TEXT, OPTION_SHAPES_MESSAGES, OPTION_PLACE(feedback)},
    {"downlink-feedback", "NAME",
     "of the server, or of the owners of parts: none or ec (default: ec where shards go with ec)",
     NULL, TITHE_OPTION_TEXT, OPTION_SHAPES_MESSAGES | TITHE_OPTION_LATER, OPTION_PLACE(downlink_feedback)},
    {"scheme", "NAME",
     "auto, dense, gather, shards, star, artopk or switch",
     "auto", TITHE_OPTION_TEXT, OPTION_SHAPES_MESSAGES | TITHE_OPTION_LATER, OPTION_PLACE(scheme)},
    {"collective", "NAME",
     "auto, or what the scheme can use: ring, tree, star, direct, allgather, or native, the MPI library's "
     "own",
     "auto", TITHE_OPTION_TEXT, OPTION_SHAPES_MESSAGES | TITHE_OPTION_CHANGES, OPTION_PLACE(collective)},
    {"leader", "HOW",
     "of artopk: round-robin, variance (who selected the most energy) or auto (default round-robin)",
     NULL, TITHE_OPTION_TEXT, OPTION_SHAPES_MESSAGES | TITHE_OPTION_LATER, OPTION_PLACE(leader)},
    {"bucket", "off|layer|SIZE",
     "send a step in several messages: one for each layer, or layers fused and cut to SIZE such as 1MiB; "
     "codec and level are each message's own",
     "off", TITHE_OPTION_BUCKET, OPTION_SHAPES_MESSAGES, OPTION_PLACE(bucket_bytes)},
    {"overlap", "on|off",
     "with `bucket`: send one while the next is encoded",
     "on", TITHE_OPTION_CHOICE, TITHE_OPTION_SAVED | TITHE_OPTION_CHANGES, OPTION_PLACE(overlap), .choices = "off|on"},
    {"tuner", "NAME",
     "fixed: the level that the codec states; cat: in each step the one that buys the most progress per "
     "cost (default: cat if the codec leaves it open)",
     NULL, TITHE_OPTION_TEXT, OPTION_SHAPES_MESSAGES, OPTION_PLACE(tuner)},
    {"level", "local|shared",
     "tuned: a level for each worker, or one for all, from the sum of what it buys them",
     "local", TITHE_OPTION_CHOICE, OPTION_SHAPES_MESSAGES, OPTION_PLACE(shared_level), .choices = "local|shared"},
    {"cost", "SPEC",
     "what a message costs, see `tithe list costs`; several with semicolons between them are given to the "
     "workers in turn",
     "bits", TITHE_OPTION_TEXT, OPTION_SHAPES_MESSAGES | TITHE_OPTION_LATER, OPTION_PLACE(cost)},
    {"count", "frame|paper",
     "what is charged: real frames or the papers' bits",
     "frame", TITHE_OPTION_CHOICE, OPTION_SHAPES_MESSAGES, OPTION_PLACE(count_paper), .choices = "frame|paper"},
    {"deterministic", NULL,
     "refuse what cannot promise the same result everywhere",
     NULL, TITHE_OPTION_FLAG, TITHE_OPTION_SAVED | TITHE_OPTION_CHANGES, OPTION_PLACE(deterministic)},
    /* clang-format on */
