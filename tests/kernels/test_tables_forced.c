/* test_tables_forced.c - TITHE_KERNELS from end to end: the table that it names is the one that runs, and frames,
 * decoded vectors and what error compensation keeps are the same bytes with every table.
 *
 * A process finds its table once, so each question is put to a child of its own, and this process asks none. */
#include <sys/wait.h>

#include "kernels/tables.h"

static const char *const specs[] = {
    "raw",
    "f16",
    "bf16",
    "natural",
    "natural:bits=8",
    "sign",
    "dither",
    "dither:s=7,p=inf,bucket=512",
    "dither:s=100,p=1,bucket=100,norm=natural,code=elias",
    "dither:s=1000,bucket=4096",
    "natdither",
    "natdither:s=3,bucket=64,code=elias",
    "natdither:s=64,p=inf",
    "topk:k=1",
    "topk:keep=0.01",
    "topk:keep=0.1|natural",
    "topk:keep=0.3|natdither:bucket=33",
    "topk:rule=l2|sign",
    "threshold:lambda=1.5|bf16",
    "threshold:lambda=0|natural",
    "mstopk:keep=0.02|dither",
    "randk:keep=0.1|natural",
    "stochastic:keep=0.05",
    "stochastic:keep=0.5|natural",
};
enum { SPECS = sizeof specs / sizeof *specs, STEPS = 5, LENGTHS = 6 };
static const size_t lengths[LENGTHS] = {1, 33, 1000, 20000, 70000, 3 * 65536 + 17};

typedef struct answer {
    tithe_status status;
    size_t bytes;
    uint64_t frame, vector; /* hashes */
} answer;

typedef struct answers {
    char name[16];
    bool complete;
    answer encoded[SPECS][LENGTHS], kept[SPECS][LENGTHS][STEPS];
} answers;

static uint64_t hash(const void *data, size_t size) /* FNV-1a */
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++) h = (h ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void encode_and_decode(const char *spec, size_t n, answer *a)
{
    tithe_codec *codec = codec_of(spec);
    const size_t bound = tithe_codec_bound(codec, n), work = tithe_codec_scratch(codec, n);
    uint8_t *frame = malloc(bound);
    float *y = calloc(n, sizeof *y);
    tithe_call call = {
        .seed = 3, .step = 4, .rank = 5, .tensor = 6, .scratch = malloc(work + 1), .scratch_size = work};
    tithe_frame_info info = {0};
    a->status = tithe_encode(codec, &call, vector_of(V_GAUSS, n), n, frame, bound, &info, NULL);
    if (!a->status) {
        a->bytes = info.bytes;
        a->frame = hash(frame, info.bytes);
        a->status = tithe_decode_add(codec, &call, frame, info.bytes, 0.3f, y, n, NULL);
        a->vector = hash(y, n * sizeof *y);
    }
    free(call.scratch);
    free(frame);
    free(y);
    tithe_codec_free(codec);
}

static void compensate(const char *spec, size_t n, answer *a)
{
    tithe_codec *codec = codec_with(spec, (tithe_codec_options){TITHE_F32, true, false});
    const size_t bound = tithe_codec_bound(codec, n), work = tithe_codec_scratch(codec, n);
    uint8_t *frame = malloc(bound);
    float *e = calloc(n, sizeof *e);
    tithe_call call = {.seed = 3, .scratch = malloc(work + 1), .scratch_size = work};
    for (uint32_t step = 0; step < STEPS; step++, a++) {
        tithe_frame_info info = {0};
        const float *g = vector_of(step % 2 ? V_LOGNORMAL : V_GAUSS, n + step);
        call.step = step;
        a->status = tithe_ec_encode(codec, &call, e, g, 0.1f, n, frame, bound, &info, NULL);
        a->bytes = info.bytes;
        a->frame = hash(frame, a->status ? 0 : info.bytes);
        a->vector = hash(e, n * sizeof *e);
    }
    free(call.scratch);
    free(frame);
    free(e);
    tithe_codec_free(codec);
}

static void answer_all(answers *to)
{
    for (size_t s = 0; s < SPECS; s++)
        for (size_t l = 0; l < LENGTHS; l++) {
            encode_and_decode(specs[s], lengths[l], &to->encoded[s][l]);
            compensate(specs[s], lengths[l], to->kept[s][l]);
        }
    to->complete = true;
}

/* A child with TITHE_KERNELS set to `value`, or not set; it leaves its answers in memory that both see. */
static answers *ask_child(const char *value, bool everything)
{
    const int zeros = open("/dev/zero", O_RDWR);
    answers *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, zeros, 0);
    assert_true(zeros >= 0 && shared != MAP_FAILED);
    close(zeros);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (value)
            setenv("TITHE_KERNELS", value, 1);
        else
            unsetenv("TITHE_KERNELS");
        snprintf(shared->name, sizeof shared->name, "%s", tithe_kernels_name());
        if (everything) answer_all(shared);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child with TITHE_KERNELS=%s died",
           value ? value : "");
    return shared;
}

static void the_named_table_runs(void **state)
{
    (void)state;
    const char *best = running_count ? running[running_count - 1]->name : "ref";
    assert_string_equal(ask_child(NULL, false)->name, best);
    assert_string_equal(ask_child("", false)->name, best);
    assert_string_equal(ask_child("nonsense", false)->name, best); /* no reason to stop */
    assert_string_equal(ask_child("AVX2", false)->name, best);
    for (const kernels *const *t = ti_kernel_tables(); *t; t++)
        assert_string_equal(ask_child((*t)->name, false)->name, (*t)->runs_here() ? (*t)->name : best);
}

static void expect_same(const answer *got, const answer *wanted, const char *table, const char *spec,
                        size_t n, const char *what)
{
    expect(got->status == wanted->status, "%s: %s, n=%zu, %s: status %d instead of %d", table, spec, n, what,
           got->status, wanted->status);
    expect(got->bytes == wanted->bytes && got->frame == wanted->frame, "%s: %s, n=%zu, %s: another frame",
           table, spec, n, what);
    expect(got->vector == wanted->vector, "%s: %s, n=%zu, %s: another vector", table, spec, n, what);
}

static void all_tables_give_the_same_bytes(void **state)
{
    (void)state;
    const answers *wanted = ask_child("ref", true);
    assert_string_equal(wanted->name, "ref");
    assert_true(wanted->complete);
    for (size_t s = 0; s < SPECS; s++)
        for (size_t l = 0; l < LENGTHS; l++) {
            expect(wanted->encoded[s][l].status == TITHE_OK, "%s, n=%zu does not encode", specs[s],
                   lengths[l]);
            expect(wanted->kept[s][l][STEPS - 1].status == TITHE_OK, "%s, n=%zu has no feedback", specs[s],
                   lengths[l]);
        }
    for (size_t t = 0; t < running_count; t++) {
        const answers *got = ask_child(running[t]->name, true);
        assert_string_equal(got->name, running[t]->name);
        assert_true(got->complete);
        for (size_t s = 0; s < SPECS; s++)
            for (size_t l = 0; l < LENGTHS; l++) {
                expect_same(&got->encoded[s][l], &wanted->encoded[s][l], got->name, specs[s], lengths[l],
                            "encoded");
                for (size_t step = 0; step < STEPS; step++)
                    expect_same(&got->kept[s][l][step], &wanted->kept[s][l][step], got->name, specs[s],
                                lengths[l], "compensated");
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_named_table_runs),
        cmocka_unit_test(all_tables_give_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, tables_setup, NULL);
}
