/* frames.h - the claims about bytes and about what decoding does with them. */
#ifndef CHECK_FRAMES_H
#define CHECK_FRAMES_H

#include "check/run.h"

/* Index and value bits, on a vector long enough for them to settle; adds to what run has seen of frames. */
tithe_status ti_check_bit_rows(check_run *run, check_output *out);

/* Fixed size, length and header, from all the frames that run has seen. */
void ti_check_size_rows(const check_run *run, check_output *out);

/* decode_add adds, equal calls give equal bytes, both forms decode to the same, and error feedback loses
 * nothing. */
tithe_status ti_check_decode_rows(check_run *run, check_output *out);

#endif
