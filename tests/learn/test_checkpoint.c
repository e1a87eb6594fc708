/* test_checkpoint.c - checkpoints in one process: the file, byte by byte; what is refused; and that a run which goes on from
 * one, taken at any step, ends where the whole run ends. tests/transport/test_checkpoint.py does so over all transports. */
#include "learn/runs.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "learn/checkpoint_file.h"

#define SMALL "gen:sparse:rows=60,features=12,density=0.4,noise=0.5"

static char folder[64];

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static uint8_t *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    expect(file != NULL, "%s is not there", path);
    uint8_t *bytes = malloc(1 << 20);
    *length = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const uint8_t *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_true(file && fwrite(bytes, 1, length, file) == length);
    assert_int_equal(fclose(file), 0);
}

static void repair(uint8_t *bytes, size_t length)
{
    put_u32(bytes + length - 4, tithe_crc32c(bytes, length - 4));
}

/* ---- methods: everything that keeps something ---------------------------------------------------------------- */

static void set_topk(tithe_train_options *o)
{
    o->codec = "topk:k=2";
}

static void set_momentum(tithe_train_options *o)
{
    set_topk(o);
    o->momentum = 0.5;
}

static void set_ef21(tithe_train_options *o)
{
    set_topk(o);
    o->feedback = "ef21";
}

static void set_both_ways(tithe_train_options *o)
{
    o->codec = "topk:k=3|natural";
    o->downlink = "topk:k=4";
    o->downlink_feedback = "ec";
}

static void set_clients(tithe_train_options *o)
{
    set_momentum(o);
    o->clients = 2;
}

static void set_local_steps(tithe_train_options *o)
{
    set_momentum(o);
    o->local_steps = 3;
    o->average = "tail";
}

static void set_lsvrg(tithe_train_options *o)
{
    o->estimator = "lsvrg";
    o->codec = "stochastic:keep=0.3";
    o->average = "weighted";
}

static void set_sgd(tithe_train_options *o)
{
    o->estimator = "sgd";
    o->sampling = "importance";
    o->codec = "randk:k=2";
    o->average = "tail";
    o->step_size = "auto/k";
}

static void set_cat(tithe_train_options *o)
{
    o->codec = "topk|sign";
    o->cost = "802.15.4";
    o->shared_level = true;
}

static void set_dense(tithe_train_options *o)
{
    o->estimator = "minibatch";
    o->batch = 3;
}

static void (*const methods[])(tithe_train_options *) = {
    set_topk,  set_momentum, set_ef21, set_both_ways,   set_clients,
    set_lsvrg, set_sgd,      set_cat,  set_local_steps, set_dense};
enum { METHODS = sizeof methods / sizeof *methods, STEPS = 12 };

static trial *trial_with(size_t method, uint64_t steps)
{
    trial *t = trial_of(SMALL);
    t->o.workers = 3;
    methods[method](&t->o);
    t->o.steps = steps;
    return t;
}

static void expect_same(const trial *whole, const trial *resumed, const char *what, size_t method,
                        uint64_t at)
{
    const tithe_train_result *a = &whole->result, *b = &resumed->result;
    expect(strcmp(a->model_hash, b->model_hash) == 0, "%s %zu, %d: another model", what, method, (int)at);
    assert_int_equal(a->steps, b->steps);
    const double numbers[][2] = {
        {a->last.loss, b->last.loss},
        {a->last.epochs, b->last.epochs},
        {a->last.average_loss, b->last.average_loss},
        {a->last.uplink_bytes, b->last.uplink_bytes},
        {a->last.downlink_bytes, b->last.downlink_bytes},
        {a->last.sent_bytes, b->last.sent_bytes},
        {a->last.paper_bits, b->last.paper_bits},
        {a->last.cost, b->last.cost},
        {a->last.downlink_cost, b->last.downlink_cost},
        {a->last.unsent, b->last.unsent},
        {a->last.residual, b->last.residual},
        {a->last.level, b->last.level},
        {a->last.kept, b->last.kept},
        {a->kept_mean, b->kept_mean},
        {a->kept_least, b->kept_least},
        {a->speedup_mean, b->speedup_mean},
        {a->residual_max, b->residual_max},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        expect(memcmp(&numbers[i][0], &numbers[i][1], sizeof(double)) == 0,
               "%s %zu, %d: number %zu is %.17g, not %.17g", what, method, (int)at, i, numbers[i][1],
               numbers[i][0]);
}

/* ---- going on ------------------------------------------------------------------------------------------------- */

/* Whatever step the run ends at, and whether its momentum has seen one gradient more or not. */
static void a_run_in_two_parts_is_the_whole_run(void **state)
{
    (void)state;
    const char *file = path_of("parts");
    for (size_t m = 0; m < METHODS; m++) {
        trial *whole = trial_with(m, STEPS);
        trial_run(whole);
        for (uint64_t at = 0; at <= STEPS; at += at < 3 ? 1 : 3) {
            trial *first = trial_with(m, at ? at : 1), *second = trial_with(m, STEPS);
            first->o.checkpoint = second->o.resume = second->o.checkpoint = file;
            if (!at) first->o.target_loss = 1e9; /* reached before the first step */
            trial_run(first);
            assert_int_equal(first->result.steps, at);
            trial_run(second);
            expect_same(whole, second, "method", m, at);
            expect(second->records[0].step == (double)at, "the first record is of step %g",
                   second->records[0].step);
            free(first);
            free(second);
        }
        free(whole);
    }
}

/* Keeps each file that appears. */
static bool copy_file(void *context, const tithe_trace_record *record)
{
    trial *t = context;
    char name[32];
    size_t length;
    if (access(t->o.checkpoint, F_OK) != 0) return true;
    uint8_t *bytes = read_file(t->o.checkpoint, &length);
    tithe_checkpoint c = {.size = sizeof c};
    tithe_error error = {0};
    expect(tithe_checkpoint_read("copy", bytes, length, &c, &error) == TITHE_OK, "%s", error.text);
    /* a loss that comes with the gradients is seen after the file was written, another one before */
    expect(c.step % 4 == 0 && c.step <= (uint64_t)record->step && record->step - (double)c.step <= 4,
           "step %d: the file is of step %d", (int)record->step, (int)c.step);
    snprintf(name, sizeof name, "copy-%d", (int)c.step);
    write_file(path_of(name), bytes, length);
    free(bytes);
    return true;
}

/* As if the power had gone off after steps 4, 8: what was written there is the state after exactly so many steps. */
static void files_in_the_middle_go_on_too(void **state)
{
    (void)state;
    for (size_t m = 0; m < METHODS; m++) {
        trial *whole = trial_with(m, STEPS), *writes = trial_with(m, STEPS);
        trial_run(whole);
        const char *file = path_of("middle");
        unlink(file);
        writes->o.checkpoint = file;
        writes->o.every = 4;
        writes->o.record = copy_file;
        writes->o.context = writes;
        writes->o.records = 1000;
        tithe_train_result result = {0};
        assert_int_equal(tithe_train_run(&writes->o, &result, &writes->error), TITHE_OK);
        for (uint64_t at = 4; at < STEPS; at += 4) {
            char name[32];
            snprintf(name, sizeof name, "copy-%d", (int)at);
            const char *copy = path_of(name);
            trial *second = trial_with(m, STEPS);
            second->o.resume = copy;
            trial_run(second);
            expect_same(whole, second, "middle", m, at);
            unlink(copy);
            free(second);
        }
        free(whole);
        free(writes);
    }
}

static void threads_may_change_on_the_way(void **state)
{
    (void)state;
    trial *whole = trial_with(1, STEPS), *first = trial_with(1, 5), *second = trial_with(1, STEPS);
    first->o.checkpoint = second->o.resume = path_of("threads");
    first->o.threads = 2;
    second->o.threads = 3;
    trial_run(whole);
    trial_run(first);
    trial_run(second);
    expect_same(whole, second, "threads", 1, 5);
    free(whole);
    free(first);
    free(second);
}

/* ---- the file ------------------------------------------------------------------------------------------------- */

static uint8_t *small_file(const char *name, size_t method, size_t *length)
{
    trial *t = trial_with(method, 3);
    t->o.checkpoint = path_of(name);
    trial_run(t);
    uint8_t *bytes = read_file(t->o.checkpoint, length);
    free(t);
    return bytes;
}

static void expect_refused(const uint8_t *bytes, size_t length, const char *what, size_t at)
{
    tithe_checkpoint c = {.size = sizeof c};
    tithe_error error = {0};
    uint8_t *exact = malloc(length + !length); /* a sanitizer sees the first byte beyond */
    memcpy(exact, bytes, length);
    const tithe_status status = tithe_checkpoint_read("file", exact, length, &c, &error);
    expect(status == TITHE_E_CORRUPT || status == TITHE_E_MISMATCH, "%s %zu: status %d", what, at,
           (int)status);
    expect(error.text[0] == '\'' && error.text[strlen(error.text) - 1] == '.', "%s %zu: '%s'", what, at,
           error.text);
    free(exact);
}

static void every_bit_counts(void **state)
{
    (void)state;
    size_t length;
    uint8_t *bytes = small_file("bits", 3, &length);
    const char *damaged = path_of("damaged");
    tithe_error error = {0};
    for (size_t i = 0; i < 8 * length; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        expect_refused(bytes, length, "bit", i);
        if (i % 37 == 0) { /* the reader of files, too */
            checkpoint_file file;
            checkpoint_head head;
            write_file(damaged, bytes, length);
            expect(ti_checkpoint_open(damaged, &file, &head, &error) != TITHE_OK, "bit %zu", i);
        }
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    free(bytes);
}

static void every_byte_is_needed(void **state)
{
    (void)state;
    size_t length;
    uint8_t *bytes = small_file("lengths", 1, &length);
    const char *cut = path_of("cut");
    tithe_error error = {0};
    checkpoint_file file;
    checkpoint_head head;
    for (size_t i = 0; i < length; i++) {
        expect_refused(bytes, i, "length", i);
        if (i % 11) continue;
        write_file(cut, bytes, i);
        expect(ti_checkpoint_open(cut, &file, &head, &error) == TITHE_E_CORRUPT, "length %zu: %s", i,
               error.text);
    }
    bytes = realloc(bytes, length + 1);
    bytes[length] = 0;
    expect_refused(bytes, length + 1, "length", length + 1);
    write_file(cut, bytes, length + 1);
    assert_int_equal(ti_checkpoint_open(cut, &file, &head, &error), TITHE_E_CORRUPT);
    free(bytes);
}

static void sizes_that_lie_are_refused(void **state)
{
    (void)state;
    size_t length;
    uint8_t *bytes = small_file("lies", 1, &length);
    static const struct {
        size_t at, width;
        uint64_t value;
    } lies[] = {
        {12, 4, 0},   {12, 4, 5},          {12, 4, UINT32_MAX},        {24, 8, UINT64_MAX},
        {24, 8, 11},  {24, 8, UINT32_MAX}, {24, 8, UINT64_C(1) << 62}, {48, 4, 0},
        {48, 4, 2},   {48, 4, 100000},     {48, 4, UINT32_MAX},        {52, 4, 0},
        {52, 4, 256}, {52, 4, 255},        {52, 4, UINT32_MAX},        {56, 8, UINT64_C(0x7ff8000000000000)}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        uint8_t *forged = malloc(length);
        memcpy(forged, bytes, length);
        if (lies[i].width == 4) put_u32(forged + lies[i].at, (uint32_t)lies[i].value);
        if (lies[i].width == 8) put_u64(forged + lies[i].at, lies[i].value);
        repair(forged, length);
        expect_refused(forged, length, "lie", i);
        free(forged);
    }
    free(bytes);
}

/* A sound checksum over a state that cannot be: clients that are none, or a model that is not finite. */
static void states_that_cannot_be_are_refused(void **state)
{
    (void)state;
    size_t length;
    uint8_t *bytes = small_file("states", 4, &length);
    const size_t model = CHECKPOINT_HEAD + get_u32(bytes + 12), n = (size_t)get_u64(bytes + 24);
    const size_t clients = model + 8 * n; /* nothing stands between them in this method */
    uint32_t seen = 0;
    for (int w = 0; w < 3; w++) seen |= 1u << get_u32(bytes + clients + 4 * w);
    assert_int_equal(seen, 7);
    const char *forged = path_of("forged");
    for (int i = 0; i < 3; i++) {
        uint8_t before[8];
        uint8_t *at = bytes + (i == 2 ? model + 8 : clients);
        memcpy(before, at, 8);
        if (i == 0) put_u32(at, 3);               /* there is no such client */
        if (i == 1) put_u32(at, get_u32(at + 4)); /* one is there twice */
        if (i == 2) put_f64(at, INFINITY);
        repair(bytes, length);
        write_file(forged, bytes, length);
        trial *t = trial_with(4, 6);
        t->o.resume = forged;
        assert_int_equal(trial_try(t), TITHE_E_CORRUPT);
        expect(strstr(t->error.text, "no run can have"), "%s", t->error.text);
        free(t);
        memcpy(at, before, 8);
    }
    free(bytes);
}

/* Where the loss was lowest, in a file of a run that never goes back there. */
static void a_lowest_loss_that_nobody_keeps_is_refused(void **state)
{
    (void)state;
    enum { DENSE = METHODS - 1 };
    size_t length;
    uint8_t *bytes = small_file("dense", DENSE, &length);
    const uint32_t parts = get_u32(bytes + 52);
    const size_t n = (size_t)get_u64(bytes + 24), more = 8 * (2 + n);
    const size_t at = CHECKPOINT_HEAD + get_u32(bytes + 12) + 8 * n;
    assert_int_equal(parts, 0); /* so it would follow the model */
    uint8_t *longer = calloc(1, length + more);
    memcpy(longer, bytes, at);
    memcpy(longer + at + more, bytes + at, length - at);
    put_u32(longer + 52, PART_LOWEST);
    repair(longer, length + more);
    const char *forged = path_of("forged");
    write_file(forged, longer, length + more);
    trial *t = trial_with(DENSE, 6);
    t->o.resume = forged;
    assert_int_equal(trial_try(t), TITHE_E_CORRUPT);
    expect(strstr(t->error.text, "no run can have"), "%s", t->error.text);
    free(t);
    free(longer);
    free(bytes);
}

/* The file with another text, and a sound checksum. */
static void write_with_text(const char *path, const uint8_t *bytes, size_t length, const char *text)
{
    const size_t before = get_u32(bytes + 12), now = strlen(text), rest = length - CHECKPOINT_HEAD - before;
    uint8_t *forged = malloc(CHECKPOINT_HEAD + now + rest);
    memcpy(forged, bytes, CHECKPOINT_HEAD);
    put_u32(forged + 12, (uint32_t)now);
    memcpy(forged + CHECKPOINT_HEAD, text, now);
    memcpy(forged + CHECKPOINT_HEAD + now, bytes + CHECKPOINT_HEAD + before, rest);
    repair(forged, CHECKPOINT_HEAD + now + rest);
    write_file(path, forged, CHECKPOINT_HEAD + now + rest);
    free(forged);
}

/* A text is anybody's: what it says is an option with a value that it can have, or there is a sentence. */
static void texts_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {{"colour: red\n", "'colour: red', which means nothing"},
                {"threads: 4\n", "'threads: 4', which means nothing"}, /* an option, but none that is saved */
                {"checkpoint: /etc/passwd\n", "means nothing"},
                {"resume: there\n", "means nothing"},
                {"workers: 0\n", "`workers` takes"},
                {"workers: 99999999999999999999\n", "`workers` takes"},
                {"batch: -1\n", "`batch` takes"},
                {"momentum: nan\n", "`momentum` takes"},
                {"split: random\n", "`split` takes"},
                {"bucket: 1\n", "`bucket` takes"},
                {"clients: some\n", "`clients` takes"},
                {"no-optimum: perhaps\n", "yes or no"},
                {"codec: \n", "`codec` needs a value"},
                {"codec\n", "head makes no sense"},
                {"codec: x", "head makes no sense"},
                {"\n", "head makes no sense"}};
    size_t length;
    uint8_t *bytes = small_file("texts", 0, &length);
    const char *forged = path_of("forged");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tithe_train_options o = train_defaults();
        tithe_error error = {0};
        char *texts = NULL;
        write_with_text(forged, bytes, length, rows[i].text);
        const tithe_status status = tithe_train_options_resume(&o, forged, &texts, &error);
        expect(status && !texts && strstr(error.text, rows[i].says), "%s: %s", rows[i].text, error.text);
        const tithe_train_options untouched = train_defaults();
        assert_memory_equal(&o, &untouched, offsetof(tithe_train_options, momentum));
        trial *t = trial_with(0, 6);
        t->o.resume = forged;
        expect(trial_try(t) != TITHE_OK && *t->error.text, "%s was resumed", rows[i].text);
        free(t);
    }
    free(bytes);
}

/* The text says one thing, the head another: no run fits both. */
static void a_text_against_its_head_is_refused(void **state)
{
    (void)state;
    size_t length;
    uint8_t *bytes = small_file("against", 0, &length);
    const char *forged = path_of("forged");
    char text[CHECKPOINT_TEXT + 1];
    static const char *const lines[] = {"workers: 2\n", "seed: 9\n", "codec: topk:k=3|raw\n"};
    for (size_t i = 0; i < 3; i++) {
        const size_t before = get_u32(bytes + 12);
        memcpy(text, bytes + CHECKPOINT_HEAD, before);
        strcpy(text + before, lines[i]); /* the last one wins */
        write_with_text(forged, bytes, length, text);
        trial *t = trial_with(0, 6);
        t->o.resume = forged;
        assert_int_equal(trial_try(t), TITHE_E_MISMATCH);
        free(t);
    }
    free(bytes);
}

/* With what the file says alone, and where the run is to end by now. */
static void the_file_has_all_options(void **state)
{
    (void)state;
    for (size_t m = 0; m < METHODS; m++) {
        trial *whole = trial_with(m, STEPS), *first = trial_with(m, 5), *second = trial_of(NULL);
        char *texts = NULL;
        first->o.checkpoint = path_of("all");
        trial_run(whole);
        trial_run(first);
        second->o.steps = STEPS;
        second->o.resume = first->o.checkpoint;
        expect(!tithe_train_options_resume(&second->o, second->o.resume, &texts, &second->error), "%s",
               second->error.text);
        assert_int_equal(second->o.steps, STEPS);
        trial_run(second);
        expect_same(whole, second, "alone", m, 5);
        free(texts);
        free(whole);
        free(first);
        free(second);
    }
}

/* Every number of an account belongs to one counter, or to the run. */
static void an_account_has_no_gaps(void **state)
{
    (void)state;
    unsigned owners[ACCOUNT_NUMBERS] = {[ACCOUNT_SENT] = 1, [ACCOUNT_COMPUTE] = 1, [ACCOUNT_RECORD] = 1};
    for (int i = ACCOUNT_MEASURED; i <= ACCOUNT_STEP_RESIDUAL; i++) owners[i]++;
    for (const tithe_counter *c = tithe_counters(); c->name; c++) {
        expect(c->place < ACCOUNT_NUMBERS, "%s has place %u", c->name, c->place);
        owners[c->place]++;
    }
    for (int i = 0; i < ACCOUNT_NUMBERS; i++) expect(owners[i] == 1, "place %d has %u owners", i, owners[i]);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    size_t length;
    uint8_t *bytes = small_file("read", 3, &length);
    tithe_checkpoint c = {.size = sizeof c};
    assert_true(tithe_checkpoint_is(bytes, length));
    assert_int_equal(tithe_checkpoint_read("read", bytes, length, &c, NULL), TITHE_OK);
    assert_true(c.step == 3 && c.n == 12 && c.workers == 3 && c.seed == 1 && c.epochs == 3);
    assert_true(c.residual && c.server_residual && !c.aggregate && !c.anchor && !c.averages && !c.momentum &&
                !c.clients);
    assert_non_null(strstr(c.text, "\ncodec: topk:k=3|natural"));
    trial *t = trial_with(3, 3);
    trial_run(t);
    assert_true(c.totals.uplink_bytes == t->result.last.uplink_bytes && c.totals.cost == t->result.last.cost);
    assert_int_equal(length, CHECKPOINT_HEAD + strlen(c.text) + c.shared_bytes + 3 * c.worker_bytes + 4);
    for (size_t i = 0; i < 12; i++) {
        const double x = get_f64(bytes + CHECKPOINT_HEAD + strlen(c.text) + 8 * i);
        assert_memory_equal(&x, &t->x[i], sizeof x);
    }
    free(t);
    free(bytes);
}

/* ---- files that cannot be written or read ------------------------------------------------------------------- */

static void failures_have_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *checkpoint, *resume, *says;
    } rows[] = {{"nowhere/file", NULL, "Cannot write"},
                {"", NULL, "has to be a file"},
                {NULL, "missing", "Cannot read"},
                {NULL, "", "has to be a file"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        trial *t = trial_with(0, 3);
        if (rows[i].checkpoint) t->o.checkpoint = path_of(rows[i].checkpoint);
        if (rows[i].resume) t->o.resume = path_of(rows[i].resume);
        assert_int_equal(trial_try(t), TITHE_E_FILE);
        expect(strstr(t->error.text, rows[i].says), "%zu: %s", i, t->error.text);
        assert_int_equal(t->count, 0); /* before the run */
        free(t);
    }
}

/* What was there stays there when a run fails, and a link stays a link. */
static void the_old_file_stays_until_the_new_one_is_whole(void **state)
{
    (void)state;
    size_t before, after;
    uint8_t *old = small_file("old", 0, &before);
    trial *t = trial_with(0, 50);
    t->o.checkpoint = path_of("old");
    t->o.step_size = "1e30"; /* diverges */
    assert_int_equal(trial_try(t), TITHE_E_DIVERGED);
    uint8_t *now = read_file(path_of("old"), &after);
    assert_true(before == after && memcmp(old, now, after) == 0);
    free(now);
    free(t);

    assert_int_equal(symlink("old", path_of("link")), 0);
    uint8_t *linked = small_file("link", 1, &after);
    struct stat about;
    assert_true(lstat(path_of("link"), &about) == 0 && S_ISLNK(about.st_mode));
    now = read_file(path_of("old"), &before);
    assert_true(before == after && memcmp(linked, now, after) == 0);
    free(now);
    free(linked);
    free(old);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tithe-checkpoint-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_in_two_parts_is_the_whole_run),
        cmocka_unit_test(files_in_the_middle_go_on_too),
        cmocka_unit_test(threads_may_change_on_the_way),
        cmocka_unit_test(an_account_has_no_gaps),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(every_byte_is_needed),
        cmocka_unit_test(sizes_that_lie_are_refused),
        cmocka_unit_test(states_that_cannot_be_are_refused),
        cmocka_unit_test(a_lowest_loss_that_nobody_keeps_is_refused),
        cmocka_unit_test(texts_that_cannot_be_are_refused),
        cmocka_unit_test(a_text_against_its_head_is_refused),
        cmocka_unit_test(the_file_has_all_options),
        cmocka_unit_test(failures_have_a_sentence),
        cmocka_unit_test(the_old_file_stays_until_the_new_one_is_whole),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
