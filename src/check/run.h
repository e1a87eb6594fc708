/* run.h - one codec on the test vectors: encode, decode, and note what the frames look like. */
#ifndef CHECK_RUN_H
#define CHECK_RUN_H

#include "check/vectors.h"
#include "tithe/check.h"

/* Where rows go. */
typedef struct check_output {
    tithe_check_report report;
    void *context;
    const char *spec;
    bool stopped; /* the caller has seen enough */
} check_output;

__attribute__((format(printf, 6, 7))) void ti_check_row(check_output *out, const char *claim, double bound,
                                                        double measured, bool holds, const char *format, ...);

/* What has been seen of frames in one form. */
typedef struct check_frames {
    double fullest; /* largest bytes / len(entries) */
    const char *fullest_on;
    size_t header; /* longest header and checksum */
    size_t uneven; /* largest difference in bytes between two frames for the same n */
    const char *uneven_on;
    size_t first_n[4], first_bytes[4]; /* per length of vector, the first frame seen */
    size_t frames;
} check_frames;

typedef struct check_run {
    const tithe_codec *codec;
    tithe_type type;
    uint64_t seed;
    const check_vectors *vectors;
    uint8_t *frame;
    size_t capacity;
    void *scratch;
    size_t scratch_size;
    float *f32;            /* the decoder's output, for f32 codecs */
    double *y;             /* C(x) */
    tithe_frame_info info; /* of the last frame */
    check_frames seen[2];  /* by form */
    size_t failures;       /* frames that could not be written or read */
    tithe_error error;     /* why, the first time */
    const char *failed_on;
} check_run;

tithe_status ti_check_run_open(const tithe_codec *codec, uint64_t seed, const check_vectors *vectors,
                               check_run *run);
void ti_check_run_close(check_run *run);

/* The call that a trial makes; trials differ in their step, vectors in their tensor. */
tithe_call ti_check_run_call(const check_run *run, size_t vector, uint32_t trial, tithe_form form);

/* Encode x (of the codec's type) into run->frame; a failure is counted. */
bool ti_check_run_encode(check_run *run, const tithe_call *call, const check_vector *v);
/* run->y = what the frame decodes to. */
bool ti_check_run_decode(check_run *run, const tithe_call *call, const check_vector *v);
/* Both. */
bool ti_check_run_trial(check_run *run, size_t vector, uint32_t trial, tithe_form form);

#endif
