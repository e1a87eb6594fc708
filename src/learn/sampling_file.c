/* sampling_file.c - rows in proportion to numbers from a file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/estimate.h"

/* One positive number for each row of the whole data set; data->original says where a local row comes from. */
static tithe_status weigh(const tithe_data *data, const char *path, double *p, tithe_error *error)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return ti_fail(error, TITHE_E_FILE, 0, "The weights of the rows cannot be read from '%.120s': %s.",
                       path, strerror(errno));
    double *all = malloc(data->total_rows * sizeof *all);
    size_t count = 0;
    tithe_status status = all ? TITHE_OK : ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory.");
    double value;
    int got = 0;
    while (!status && (got = fscanf(file, "%lf", &value)) == 1) {
        if (!(value > 0) || !isfinite(value))
            status = ti_fail(error, TITHE_E_DATA, count, "%s: weight %zu is %g, but must be positive.", path,
                             count + 1, value);
        else if (count < data->total_rows)
            all[count] = value;
        count++;
    }
    if (!status && (got == 0 || count != data->total_rows))
        status = ti_fail(error, TITHE_E_DATA, count,
                         "%s: %s %zu numbers, but the data has %zu rows: one for each.", path,
                         got == 0 ? "something is no number after" : "it holds", count, data->total_rows);
    for (size_t r = 0; !status && r < data->rows; r++) p[r] = all[data->original[r]];
    free(all);
    fclose(file);
    return status;
}

const tithe_sampling ti_sampling_file = {
    .name = "file",
    .summary = "rows in proportion to numbers from a file, one for each: file:PATH, or the path alone",
    .takes_file = true,
    .weigh = weigh,
};
