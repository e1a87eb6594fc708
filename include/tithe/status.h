/* status.h - what every function that can fail returns.
 *
 * Zero is success. A function that fails leaves its results untouched, unless its comment says otherwise.
 * Where a person has to act on the failure, the function also takes a tithe_error (NULL is fine) and fills
 * in one sentence that says what to do. */
#ifndef TITHE_STATUS_H
#define TITHE_STATUS_H

#include <stddef.h>

#ifndef TITHE_API
#define TITHE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The values are pinned: they cross language bindings. */
typedef enum tithe_status {
    TITHE_OK = 0,
    TITHE_E_ARGUMENT = 1,  /* an argument is outside what the function takes */
    TITHE_E_SPEC = 2,      /* a spec string is wrong, or asks for a pair that makes no sense */
    TITHE_E_NONFINITE = 3, /* the input holds a NaN or an infinity; position says where */
    TITHE_E_RANGE = 4,     /* a number is too large for the number format that was chosen */
    TITHE_E_SPACE = 5,     /* a buffer is smaller than its bound() asks for */
    TITHE_E_CORRUPT = 6,   /* the bytes are not a frame, or not the frame that was sent */
    TITHE_E_MISMATCH = 7,  /* a sound frame, but of another codec, size or step than expected */
    TITHE_E_MEMORY = 8,    /* malloc said no */
    TITHE_E_FILE = 9,      /* a file cannot be opened, read or written */
    TITHE_E_DATA = 10,     /* a file was read, but its content is not what it should be */
    TITHE_E_DIVERGED = 11, /* training left the numbers that make sense */
    TITHE_E_TIMEOUT = 12,  /* a wait took too long */
    TITHE_E_PEER = 13,     /* another rank failed or went away */
    TITHE_E_STOPPED = 14,  /* the caller asked to stop */
    TITHE_E_SKIPPED = 15   /* the step was skipped on all ranks, and nothing has changed (exchange.h) */
} tithe_status;

/* One sentence for a status, never NULL. The text is static. */
TITHE_API const char *tithe_status_text(tithe_status status);

typedef struct tithe_error {
    tithe_status code;
    size_t position; /* in the text, the vector or the frame: counted from 0 */
    char text[240];  /* one sentence that says what to do */
} tithe_error;

/* For languages that cannot write the struct: a place for an error, and what is in it. */
TITHE_API tithe_error *tithe_error_create(void); /* NULL: there is no memory for it */
TITHE_API void tithe_error_free(tithe_error *error);
TITHE_API tithe_status tithe_error_code(const tithe_error *error);
TITHE_API size_t tithe_error_position(const tithe_error *error);
TITHE_API const char *tithe_error_sentence(const tithe_error *error);
/* Say it, as a transport of one's own does; cut where a sentence ends. */
TITHE_API void tithe_error_set(tithe_error *error, tithe_status code, const char *sentence);

/* Text that a function has made for its caller, such as tithe_exchange_describe. NULL is fine. */
TITHE_API void tithe_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
