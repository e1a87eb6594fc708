/* fuzz_libsvm.c - any bytes as LIBSVM text. What is taken is sound: indices ascend, numbers are finite, and cutting
 * the text at a line's end gives the first rows again. What is refused has a sentence that names the line. */
#include "data/data.h"
#include "fuzz.h"

static tithe_status read_text(const char *text, size_t size, data_rows *d, tithe_error *error)
{
    data_file *file = NULL;
    insist(ti_data_file_memory("input", text, size, &file, error) == 0, "no memory");
    const tithe_status status = ti_data_read_libsvm(file, d, error);
    ti_data_file_close(file);
    return status;
}

static void check_rows(const data_rows *d)
{
    insist(d->rows > 0 && d->offsets[0] == 0 && d->offsets[d->rows] == d->count, "offsets do not fit");
    size_t highest = 0;
    for (size_t i = 0; i < d->rows; i++) {
        insist(isfinite(d->labels[i]), "label %zu is not finite", i);
        for (size_t k = d->offsets[i]; k < d->offsets[i + 1]; k++) {
            insist(k == d->offsets[i] || d->indices[k - 1] < d->indices[k],
                   "indices of row %zu do not ascend", i);
            insist(isfinite(d->values[k]), "value %zu is not finite", k);
            if (d->indices[k] >= highest) highest = (size_t)d->indices[k] + 1;
        }
    }
    insist(highest == d->features, "%zu features, but the highest index is %zu", d->features, highest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_alloc(size);
    if (size) memcpy(text, data, size);
    data_rows d = {0};
    tithe_error error = {0};
    const tithe_status status = read_text(text, size, &d, &error);
    if (status) {
        insist(error.code == status && error.text[0], "status %d without a sentence", status);
        insist(strstr(error.text, "input") != NULL, "%s does not name the file", error.text);
    } else {
        check_rows(&d);
        size_t half = size / 2;
        while (half && text[half - 1] != '\n') half--;
        data_rows first = {0};
        const tithe_status again = read_text(text, half, &first, &error);
        insist(again == 0 || first.rows == 0, "half of it is refused: %s", error.text);
        insist(first.rows <= d.rows && first.count <= d.count, "half of it has more rows");
        if (first.rows)
            insist(
                memcmp(first.labels, d.labels, first.rows * sizeof *d.labels) == 0 &&
                    (first.count == 0 || memcmp(first.values, d.values, first.count * sizeof *d.values) == 0),
                "half of it has other rows");
        ti_data_rows_free(&first);
    }
    ti_data_rows_free(&d);
    free(text);
    return 0;
}
