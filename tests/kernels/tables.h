/* tables.h - what the tests of the kernel tables share: the tables that run here, vectors of every kind, and memory
 * with watched surroundings: guard bytes beside it, and at both ends a page that nobody may touch. */
#ifndef TESTS_KERNELS_TABLES_H
#define TESTS_KERNELS_TABLES_H

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "support.h"

enum { SHORT = 300, LONGEST = 3 * 65536 + 17 };

/* Around blocks, spans, and the length from which several streams are read at once. */
static const size_t edges[] = {1023,  1024,  1025,  4095,  4096,  4097,   8191,        8192,   8193,
                               16384, 65535, 65536, 65537, 70000, 131072, 131072 + 31, LONGEST};
enum { EDGES = sizeof edges / sizeof *edges };

/* ---- the tables ---------------------------------------------------------------------------------------- */

static const kernels *running[8]; /* all that run here, but for ref */
static size_t running_count;

/* What becomes of e where e + added is not finite: as it was if it, or what was added, is not; else the largest number. */
static inline float kept_of_overflow(float e, float added)
{
    return isfinite(e) && isfinite(added) ? copysignf(FLT_MAX, added) : e;
}

/* What is tested goes to the output, and so does what cannot be. */
static inline void list_tables(void)
{
    printf("tables:");
    for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
        if (!(*t)->runs_here()) continue;
        printf(" %s", (*t)->name);
        if (*t != &ti_kernels_ref) running[running_count++] = *t;
    }
    printf("\n");
    for (const kernels *const *t = ti_kernel_tables(); *t; t++)
        if (!(*t)->runs_here()) printf("SKIP: %s does not run on this processor\n", (*t)->name);
    fflush(stdout);
}

/* ---- vectors ------------------------------------------------------------------------------------------- */

typedef enum vector_kind {
    V_GAUSS,
    V_LOGNORMAL,
    V_TIES,
    V_ZEROS,
    V_DENORMAL,
    V_HUGE,
    V_NONFINITE,
    V_KINDS
} vector_kind;

static const char *const vector_names[] = {"gaussian", "lognormal", "ties",      "zeros of both signs",
                                           "denormal", "huge",      "not finite"};

static float *vectors[V_KINDS];
enum { SALTS = 61 };

static inline float vector_number(vector_kind kind, dice *d)
{
    static const uint32_t odd[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7fffffff, 0xffffffff};
    const double g = roll_gauss(d);
    switch (kind) {
    case V_GAUSS: return (float)g;
    case V_LOGNORMAL: return (float)((roll(d) & 1 ? 1 : -1) * exp(4 * g));
    case V_TIES: return (float)((int)roll_below(d, 9) - 4) * 0.375f;
    case V_ZEROS: return roll_below(d, 4) ? float_of_bits((uint32_t)roll(d) & 0x80000000u) : (float)g;
    case V_DENORMAL: return float_of_bits((uint32_t)(roll(d) & 0x80ffffffu));
    case V_HUGE:
        return float_of_bits(0x7e800000u + (uint32_t)roll_below(d, 0x01000000) +
                             ((uint32_t)roll(d) & 0x80000000u));
    default: return roll_below(d, 40) ? (float)g : float_of_bits(odd[roll_below(d, 6)]);
    }
}

static inline void fill_vectors(void)
{
    for (int kind = 0; kind < V_KINDS; kind++) {
        dice d = {100 + (uint64_t)kind};
        vectors[kind] = malloc((LONGEST + SALTS) * sizeof(float));
        assert_non_null(vectors[kind]);
        for (size_t i = 0; i < LONGEST + SALTS; i++) vectors[kind][i] = vector_number((vector_kind)kind, &d);
    }
}

static inline const float *vector_of(vector_kind kind, size_t salt)
{
    return vectors[kind] + salt % SALTS;
}

/* Any kind goes with any, huge with huge included, whose sums overflow. But numbers that are not finite stand in one of
 * the two only: of two, either may win. */
static inline vector_kind gradient_kind(vector_kind kind, size_t n)
{
    const vector_kind other = (vector_kind)((kind + n) % V_KINDS);
    return kind == V_NONFINITE && other == V_NONFINITE ? V_GAUSS : other;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Bytes between two closed pages. Whatever reads or writes beyond them is killed by the system, in any build. */
typedef struct fenced {
    uint8_t *begin, *end;
} fenced;

static inline fenced fenced_make(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (bytes + 4 * GUARD + page - 1) / page * page;
    const int zeros = open("/dev/zero", O_RDWR);
    assert_true(zeros >= 0);
    uint8_t *map = mmap(NULL, inside + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zeros, 0);
    assert_true(map != MAP_FAILED);
    close(zeros);
    memset(map, GUARD_BYTE, inside + 2 * page);
    assert_int_equal(mprotect(map, page, PROT_NONE), 0);
    assert_int_equal(mprotect(map + page + inside, page, PROT_NONE), 0);
    return (fenced){map + page, map + page + inside};
}

/* Places: so many units off a boundary of 64 bytes, with guards on both sides; or against one of the closed pages. */
enum { SHIFTS = 16, AT_FRONT = SHIFTS, AT_END, PLACES };

static inline uint8_t *fenced_place(const fenced *f, size_t size, size_t unit, unsigned place)
{
    uint8_t *p = f->begin + GUARD + place * unit;
    if (place == AT_FRONT) p = f->begin;
    if (place == AT_END) p = f->end - size;
    for (size_t i = 1; i <= GUARD && p - i >= f->begin; i++) p[-(ptrdiff_t)i] = GUARD_BYTE;
    for (size_t i = 0; i < GUARD && p + size + i < f->end; i++) p[size + i] = GUARD_BYTE;
    return p;
}

static inline bool fenced_is_intact(const fenced *f, const uint8_t *p, size_t size)
{
    bool intact = true;
    for (size_t i = 1; i <= GUARD && p - i >= f->begin; i++) intact &= p[-(ptrdiff_t)i] == GUARD_BYTE;
    for (size_t i = 0; i < GUARD && p + size + i < f->end; i++) intact &= p[size + i] == GUARD_BYTE;
    return intact;
}

/* One output of a kernel: what ref makes of it, and what a table does, in equal surroundings. */
typedef struct output {
    fenced wanted_field, got_field;
    uint8_t *wanted, *got;
    size_t size;
    const char *name;
} output;

static inline output output_make(const char *name, size_t bytes)
{
    return (output){.wanted_field = fenced_make(bytes), .got_field = fenced_make(bytes), .name = name};
}

static inline void output_place(output *o, size_t size, size_t unit, unsigned place)
{
    o->size = size;
    o->wanted = fenced_place(&o->wanted_field, size, unit, place);
    o->got = fenced_place(&o->got_field, size, unit, place);
}

/* Both start as a copy of `from`, or all alike. */
static inline void output_reset(uint8_t *p, const output *o, const void *from)
{
    if (from)
        memcpy(p, from, o->size);
    else
        memset(p, 0x5c, o->size);
}

/* ---- the case at hand, for the sentence that says what went wrong ---------------------------------------- */

static struct {
    const char *function, *table;
    vector_kind kind;
    size_t n;
    unsigned place;
    char more[160];
} here;

#define expect_here(condition, ...)                                                              \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            printf("%s of table %s, %s vector, n=%zu, place %u%s:\n", here.function, here.table, \
                   vector_names[here.kind], here.n, here.place, here.more);                      \
            fail_msg(__VA_ARGS__);                                                               \
        }                                                                                        \
    } while (0)

/* The first `size` bytes are what ref made, and nothing beside the output was touched. */
static inline void expect_output(const output *o, size_t size)
{
    size_t at = 0;
    if (memcmp(o->wanted, o->got, size) != 0)
        while (at < size && o->wanted[at] == o->got[at]) at++;
    else
        at = size;
    expect_here(at == size, "%s: byte %zu of %zu is %02x instead of %02x", o->name, at, size, o->got[at],
                o->wanted[at]);
    expect_here(fenced_is_intact(&o->wanted_field, o->wanted, o->size), "%s: ref wrote beside it", o->name);
    expect_here(fenced_is_intact(&o->got_field, o->got, o->size), "%s: it wrote beside it", o->name);
}

static inline void expect_double(const char *what, double got, double wanted)
{
    expect_here(memcmp(&got, &wanted, sizeof got) == 0 || (isnan(got) && isnan(wanted)),
                "%s is %a instead of %a", what, got, wanted);
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

typedef void one_case(vector_kind kind, size_t n, unsigned place);

static inline void ask(one_case *question, vector_kind kind, size_t n, unsigned place)
{
    here.kind = kind;
    here.n = n;
    here.place = place;
    here.more[0] = 0;
    question(kind, n, place);
}

/* Every short length at every place; every short length of every kind; the edges of every kind, at changing places. */
static inline void every_case(const char *function, one_case *question)
{
    here.function = function;
    for (size_t n = 0; n <= SHORT; n++)
        for (unsigned place = 0; place < PLACES; place++)
            ask(question, (vector_kind)((n + place) % V_KINDS), n, place);
    for (size_t n = 0; n <= SHORT; n++)
        for (unsigned kind = 0; kind < V_KINDS; kind++)
            ask(question, (vector_kind)kind, n, (5 * (unsigned)n + kind) % PLACES);
    for (size_t i = 0; i < EDGES; i++)
        for (unsigned kind = 0; kind < V_KINDS; kind++)
            ask(question, (vector_kind)kind, edges[i], (7 * (unsigned)i + kind) % PLACES);
}

static int tables_setup(void **state)
{
    (void)state;
    list_tables();
    fill_vectors();
    return 0;
}

#endif
