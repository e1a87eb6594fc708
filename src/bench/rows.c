/* rows.c - what is measured. The names are a contract: scripts look rows up by them. */
#include "bench/job.h"

#define DITHER4 "all|dither:s=7,bucket=512"

const bench_row ti_bench_kernel_rows[] = {
    {.name = "memcpy", .kind = &ti_bench_memcpy},
    {.name = "read", .kind = &ti_bench_read},
    {.name = "read8", .kind = &ti_bench_read8},
    {.name = "natural.encode", .kind = &ti_bench_quant_encode, .spec = "all|natural"},
    {.name = "natural.decode_add", .kind = &ti_bench_quant_decode, .spec = "all|natural"},
    {.name = "bf16.encode", .kind = &ti_bench_quant_encode, .spec = "all|bf16", .single = true},
    {.name = "topk.select@0.001", .kind = &ti_bench_select, .spec = "topk:keep=0.001", .share = 0.001},
    {.name = "topk.select@0.01", .kind = &ti_bench_select, .spec = "topk:keep=0.01", .share = 0.01},
    {.name = "topk.select@0.1", .kind = &ti_bench_select, .spec = "topk:keep=0.1", .share = 0.1},
    {.name = "threshold.select@0.01", .kind = &ti_bench_select, .spec = "threshold", .share = 0.01},
    {.name = "dither4.encode", .kind = &ti_bench_quant_encode, .spec = DITHER4},
    {.name = "dither4.decode_add", .kind = &ti_bench_quant_decode, .spec = DITHER4},
    {.name = "natdither4.encode", .kind = &ti_bench_quant_encode, .spec = "all|natdither:s=7,bucket=512"},
    /* whole calls of tithe_ec_encode: what a training step pays */
    {.name = "ec+natural", .kind = &ti_bench_ec, .spec = "all|natural"},
    {.name = "ec+threshold@0.01", .kind = &ti_bench_ec, .spec = "threshold", .share = 0.01},
    {.name = "ec+topk@0.01", .kind = &ti_bench_ec, .spec = "topk:keep=0.01", .share = 0.01},
    {.name = "indices.encode@0.01",
     .kind = &ti_bench_indices_encode,
     .spec = "topk:keep=0.01",
     .share = 0.01,
     .single = true},
    {.name = "indices.decode@0.01",
     .kind = &ti_bench_indices_decode,
     .spec = "topk:keep=0.01",
     .share = 0.01,
     .single = true},
    /* parts of the others */
    {.name = "random.block", .kind = &ti_bench_random, .single = true},
    {.name = "crc32c", .kind = &ti_bench_crc, .single = true},
    {.name = "elias.encode",
     .kind = &ti_bench_quant_encode,
     .spec = DITHER4 ",code=elias",
     .longest = 1 << 20,
     .single = true},
    {.name = "elias.decode",
     .kind = &ti_bench_quant_decode,
     .spec = DITHER4 ",code=elias",
     .longest = 1 << 20,
     .single = true},
    {.name = NULL},
};

#define BOTH_WAYS(what, ...)                                                  \
    {.name = "encode " what, .kind = &ti_bench_encode, __VA_ARGS__},          \
    {                                                                         \
        .name = "decode_add " what, .kind = &ti_bench_decode_add, __VA_ARGS__ \
    }
#define WHOLE(spelling) BOTH_WAYS(spelling, .spec = (spelling))

const bench_row ti_bench_codec_rows[] = {
    {.name = "memcpy", .kind = &ti_bench_memcpy},
    {.name = "read", .kind = &ti_bench_read},
    {.name = "read8", .kind = &ti_bench_read8},
    WHOLE("all|raw"),
    WHOLE("all|f16"),
    WHOLE("all|bf16"),
    WHOLE("all|natural"),
    WHOLE("all|sign"),
    WHOLE(DITHER4),
    WHOLE("all|dither:s=127,bucket=512"),
    BOTH_WAYS("dither8:p=inf,bucket=128", .spec = "all|dither:s=127,p=inf,bucket=128"),
    BOTH_WAYS("dither4:code=elias", .spec = DITHER4 ",code=elias"),
    WHOLE("all|natdither:s=7,bucket=512"),
    WHOLE("topk:keep=0.01"),
    WHOLE("topk:keep=0.01|natural"),
    BOTH_WAYS("threshold@0.01", .spec = "threshold", .share = 0.01), /* lambda depends on the data */
    WHOLE("randk:keep=0.01"),
    WHOLE("stochastic:keep=0.01"),
    WHOLE("mstopk:keep=0.01"),
    {.name = NULL},
};

/* A choice runs on one thread. The affine cost is counted as the papers do, since a sort and scan that asks for the
 * length of every frame would be slower than it has to be. */
#define CHOICE(title, how, pair, price)                                                  \
    {                                                                                    \
        .name = (title), .kind = &(how), .spec = (pair), .cost = (price), .single = true \
    }

const bench_row ti_bench_tuner_rows[] = {
    {.name = "memcpy", .kind = &ti_bench_memcpy},
    {.name = "read", .kind = &ti_bench_read},
    {.name = "read8", .kind = &ti_bench_read8},
    {.name = "cat.affine",
     .kind = &ti_bench_choose,
     .spec = "topk|raw",
     .cost = "affine:c0=1e6",
     .paper = true,
     .single = true},
    {.name = "cat.sort",
     .kind = &ti_bench_sort_and_scan,
     .spec = "topk|raw",
     .cost = "affine:c0=1e6",
     .paper = true,
     .single = true},
    CHOICE("cat.packet", ti_bench_choose, "topk|raw", "802.15.4"),
    CHOICE("cat.sq", ti_bench_choose, "topk|sign", "802.15.4"),
    CHOICE("cat.ss", ti_bench_choose, "stochastic|raw", "802.15.4"),
    CHOICE("cat.natural", ti_bench_choose, "topk|natural", "802.15.4"),
    CHOICE("cat.threshold", ti_bench_choose, "threshold|raw", "802.15.4"),
    CHOICE("cat.encode", ti_bench_encode_chosen, "topk|raw", "802.15.4"),
    CHOICE("cat+encode", ti_bench_choose_and_encode, "topk|raw", "802.15.4"),
    CHOICE("put.encode", ti_bench_put, "topk|raw", "802.15.4"),
    CHOICE("put.cat", ti_bench_put_cat, "topk|raw", "802.15.4"),
    CHOICE("put.late", ti_bench_put_late, "topk|raw", "802.15.4"),
    CHOICE("put.late.full", ti_bench_put_late_full, "topk|raw", "802.15.4"),
    {.name = NULL},
};

/* All ranks in this process; @ is their number. Two ways of a star: top-k up, natural back. */
#define STEP(title, how, pair, count)                                                              \
    {                                                                                              \
        .name = (title), .kind = &ti_bench_step, .scheme = (how), .spec = (pair), .ranks = (count) \
    }
#define ALL_REDUCE(title, how, count)                                                                    \
    {                                                                                                    \
        .name = (title), .kind = &ti_bench_all_reduce, .scheme = (how), .ranks = (count), .single = true \
    }

const bench_row ti_bench_exchange_rows[] = {
    {.name = "memcpy", .kind = &ti_bench_memcpy},
    {.name = "read", .kind = &ti_bench_read},
    {.name = "read8", .kind = &ti_bench_read8},
    ALL_REDUCE("allreduce.ring@2", "ring", 2),
    ALL_REDUCE("allreduce.ring@4", "ring", 4),
    ALL_REDUCE("allreduce.tree@4", "tree", 4),
    STEP("dense@2", "dense", "all|raw", 2),
    STEP("dense@4", "dense", "all|raw", 4),
    STEP("gather@2", "gather", "topk:keep=0.01", 2),
    STEP("gather@4", "gather", "topk:keep=0.01", 4),
    STEP("star@2", "star", "topk:keep=0.01", 2),
    STEP("star@4", "star", "topk:keep=0.01", 4),
    {.name = NULL},
};
