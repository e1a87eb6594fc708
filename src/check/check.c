/* check.c - all rows of one codec, in the order in which a reader wants them. */
#include "tithe/check.h"

#include "check/frames.h"
#include "check/moments.h"
#include "check/run.h"

static void round_trip_row(const check_run *run, check_output *out)
{
    if (run->failures)
        ti_check_row(out, "round trip", 0, (double)run->failures, false, "on %s: %.100s", run->failed_on,
                     run->error.text);
    else
        ti_check_row(out, "round trip", 0, 0, true, "of %zu frames, all were written and read",
                     run->seen[TITHE_SELF_CONTAINED].frames + run->seen[TITHE_EXCHANGE].frames);
}

tithe_status tithe_check_codec(const tithe_codec *codec, uint64_t seed, tithe_check_report report,
                               void *context)
{
    if (!codec || !report) return TITHE_E_ARGUMENT;
    check_output out = {.report = report, .context = context, .spec = tithe_codec_spec(codec)};
    check_vectors vectors;
    check_run run;
    tithe_status status = ti_check_vectors_make(codec, seed, &vectors);
    if (status != TITHE_OK) return status;
    status = ti_check_run_open(codec, seed, &vectors, &run);
    if (status == TITHE_OK) {
        tithe_status (*const parts[])(check_run *, check_output *) = {ti_check_moment_rows, ti_check_bit_rows,
                                                                      ti_check_decode_rows};
        for (size_t i = 0; i < sizeof parts / sizeof *parts && status == TITHE_OK && !out.stopped; i++)
            status = parts[i](&run, &out);
        if (status == TITHE_OK) {
            ti_check_size_rows(&run, &out);
            round_trip_row(&run, &out);
        }
        ti_check_run_close(&run);
    }
    ti_check_vectors_free(&vectors);
    return status;
}
