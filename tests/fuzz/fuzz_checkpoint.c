/* fuzz_checkpoint.c - any bytes as a checkpoint, once as they are and once with their checksum put right. What is refused
 * has a sentence that names the file; what is read fits into its bytes.
 *
 * input: a file */
#include "fuzz.h"

#include "tithe/learn.h"

static void read_it(const uint8_t *data, size_t size)
{
    tithe_error error = {0};
    tithe_checkpoint c;
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
