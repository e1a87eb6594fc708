/* status.c - the texts of the statuses, and the one place where an error sentence is written. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tithe/tithe.h"

const char *tithe_version(void)
{
    return TITHE_VERSION;
}

const char *tithe_status_text(tithe_status status)
{
    switch (status) {
    case TITHE_OK: return "Done.";
    case TITHE_E_ARGUMENT: return "An argument is outside what the function takes.";
    case TITHE_E_SPEC: return "The spec is wrong; `tithe list` shows what would be right.";
    case TITHE_E_NONFINITE: return "The input holds a NaN or an infinity.";
    case TITHE_E_RANGE: return "A number is too large for the number format that was chosen.";
    case TITHE_E_SPACE: return "A buffer is too small; size it with the bound and scratch functions.";
    case TITHE_E_CORRUPT: return "The bytes are not a sound frame.";
    case TITHE_E_MISMATCH: return "The frame is of another codec, size or step than expected.";
    case TITHE_E_MEMORY: return "There is not enough memory.";
    case TITHE_E_FILE: return "A file cannot be opened, read or written.";
    case TITHE_E_DATA: return "The content of a file is not what it should be.";
    case TITHE_E_DIVERGED: return "Training diverged; a smaller step size may help.";
    case TITHE_E_TIMEOUT: return "A wait took longer than its timeout.";
    case TITHE_E_PEER: return "Another rank failed or went away.";
    case TITHE_E_STOPPED: return "It was stopped by hand.";
    case TITHE_E_SKIPPED: return "The step was skipped on all ranks, since one could not send its gradient.";
    }
    return "Unknown status.";
}

tithe_status ti_fail(tithe_error *error, tithe_status code, size_t position, const char *format, ...)
{
    if (error) {
        error->code = code;
        error->position = position;
        va_list args;
        va_start(args, format);
        vsnprintf(error->text, sizeof error->text, format, args);
        va_end(args);
    }
    return code;
}

tithe_error *tithe_error_create(void)
{
    return calloc(1, sizeof(tithe_error));
}

void tithe_error_free(tithe_error *error)
{
    free(error);
}

tithe_status tithe_error_code(const tithe_error *error)
{
    return error->code;
}

size_t tithe_error_position(const tithe_error *error)
{
    return error->position;
}

const char *tithe_error_sentence(const tithe_error *error)
{
    return error->text;
}

void tithe_error_set(tithe_error *error, tithe_status code, const char *sentence)
{
    ti_fail(error, code, 0, "%s", sentence);
}

void tithe_text_free(char *text)
{
    free(text);
}
