/* fuzz_checkpoint.c - any bytes as a checkpoint, once as they are and once with their checksum put right. What is refused
 * has a sentence that names the file; what is read fits into its bytes, and its options are options.
 *
 * input: a file */
#include "fuzz.h"

#include "learn/checkpoint_text.h"
#include "tithe/learn.h"

/* Options from a sound head: all of them make sense, or there is a sentence. */
static void take_options(const uint8_t *data, size_t size)
{
    tithe_error error = {0};
    checkpoint_head head;
    size_t used;
    char *texts = NULL;
    tithe_train_options o = {.size = sizeof o};
    tithe_train_defaults(&o);
    insist(!ti_checkpoint_read_head("fuzz", data, size, size, &head, &used, &error), "%s", error.text);
    const tithe_status status = ti_checkpoint_options("fuzz", &head, &o, &texts, &error);
    insist(!status == (texts != NULL) && !status == !*error.text, "status %d, '%s'", (int)status, error.text);
    insist(status || (o.workers >= 1 && o.momentum >= 0 && o.momentum < 1), "options that cannot be");
    free(texts);
}

static void read_it(const uint8_t *data, size_t size)
{
    tithe_error error = {0};
    tithe_checkpoint c = {.size = sizeof c};
    const tithe_status status = tithe_checkpoint_read("fuzz", data, size, &c, &error);
    if (status) {
        insist(status == TITHE_E_CORRUPT || status == TITHE_E_MISMATCH, "status %d", (int)status);
        insist(error.code == status && strncmp(error.text, "'fuzz'", 6) == 0, "'%s'", error.text);
        return;
    }
    const size_t text = strlen(c.text);
    insist(tithe_checkpoint_is(data, size) && text > 0 && c.text[text - 1] == '\n', "a text without an end");
    insist(c.shared_bytes + c.workers * c.worker_bytes + text < size, "%zu bytes are too few", size);
    insist(c.workers > 0 && 8 * c.n <= c.shared_bytes, "no model");
    take_options(data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_it(data, size);
    if (size < 4) return 0;
    uint8_t *repaired = fuzz_alloc(size);
    memcpy(repaired, data, size);
    fuzz_repair(repaired, size);
    read_it(repaired, size);
    free(repaired);
    return 0;
}
