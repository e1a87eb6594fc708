/* trace_file.c - writes a trace line by line, so that whatever stops the run, the lines before stay readable.
 *
 * Each line goes to the system in one write() at the end of the file; a line that did not fit is cut off again. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"
#include "report/buffer.h"
#include "report/numbers.h"
#include "report/trace.h"

struct tithe_trace_file {
    int descriptor;
    bool regular, header_written;
    off_t length;  /* of all whole lines */
    time_t synced; /* when the medium had all of them, by the monotonic clock */
    buffer line;
    char *path; /* as sentences show it */
};

static time_t now(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? t.tv_sec : 0;
}

static tithe_status fail_write(const tithe_trace_file *file, int reason, tithe_error *error)
{
    return ti_fail(error, TITHE_E_FILE, 0, "Cannot write the trace '%.100s': %s.", file->path,
                   strerror(reason));
}

static tithe_status sync_now(tithe_trace_file *file, tithe_error *error)
{
    file->synced = now();
    /* EINVAL: this file system has no such thing. */
    if (file->regular && fdatasync(file->descriptor) != 0 && errno != EINVAL)
        return fail_write(file, errno, error);
    return TITHE_OK;
}

/* All of file->line, or nothing. Empties it. */
static tithe_status put_line(tithe_trace_file *file, tithe_error *error)
{
    const size_t length = file->line.length;
    size_t put = 0;
    int reason = file->line.failed ? ENOMEM : 0;
    while (!reason && put < length) {
        const ssize_t n = write(file->descriptor, file->line.text + put, length - put);
        if (n >= 0)
            put += (size_t)n;
        else if (errno != EINTR)
            reason = errno;
    }
    file->line.length = 0;
    file->line.failed = false;
    if (reason) {
        /* Half a line in the middle would spoil what a later append writes; where it cannot be cut off, the reason
         * that is reported stays the first one. */
        if (put > 0 && file->regular && ftruncate(file->descriptor, file->length) != 0) file->regular = false;
        return fail_write(file, reason, error);
    }
    file->length += (off_t)length;
    return now() > file->synced ? sync_now(file, error) : TITHE_OK;
}

/* ---- texts ---------------------------------------------------------------------------------------------- */

static bool is_control(char c)
{
    return (unsigned char)c < 32 || c == 127;
}

/* A field of a record: quoted as in every CSV where it must be, and where a # could be taken for a comment. It stays on its line, so a line end is a blank. */
static void add_field(buffer *b, const char *text)
{
    const bool quoted = strpbrk(text, ",\"#") || text[0] == ' ' || (*text && text[strlen(text) - 1] == ' ');
    if (quoted) ti_buffer_text(b, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"') ti_buffer_text(b, "\"");
        ti_buffer_add(b, is_control(*c) ? " " : c, 1);
    }
    if (quoted) ti_buffer_text(b, "\"");
}

/* The value of a fact is plain as long as it can be; else it is quoted, with \n \r \t \" and \\. A command must
 * come back as it was, so here nothing is lost but the other control characters, which become blanks. */
static void add_value(buffer *b, const char *text)
{
    const size_t length = strlen(text);
    bool quoted = length > 0 && (text[0] == '"' || text[0] == ' ' || text[length - 1] == ' ');
    for (const char *c = text; *c; c++) quoted = quoted || is_control(*c);
    if (!quoted) {
        ti_buffer_text(b, text);
        return;
    }
    ti_buffer_text(b, "\"");
    for (const char *c = text; *c; c++) {
        static const char plain[] = "\n\r\t\"\\", written[] = "nrt\"\\";
        const char *escape = strchr(plain, *c);
        if (escape) {
            ti_buffer_text(b, "\\");
            ti_buffer_add(b, written + (escape - plain), 1);
        } else {
            ti_buffer_add(b, is_control(*c) ? " " : c, 1);
        }
    }
    ti_buffer_text(b, "\"");
}

static void add_fact(buffer *b, const char *key, const char *value)
{
    ti_buffer_text(b, "# ");
    ti_buffer_text(b, key);
    ti_buffer_text(b, ": ");
    add_value(b, value);
    ti_buffer_text(b, "\n");
}

static void add_header(buffer *b)
{
    for (const tithe_column *c = tithe_columns(); c->name; c++) {
        if (c != tithe_columns()) ti_buffer_text(b, ",");
        ti_buffer_text(b, c->name);
    }
    ti_buffer_text(b, "\n");
}

static void add_record(buffer *b, const tithe_trace_record *record)
{
    for (const tithe_column *c = tithe_columns(); c->name; c++) {
        if (c != tithe_columns()) ti_buffer_text(b, ",");
        if (c->kind == TITHE_COLUMN_NUMBER) {
            char number[NUMBER_SIZE];
            ti_buffer_add(b, number, ti_number_write(ti_number_at(record, c), number));
        } else {
            add_field(b, ti_text_at(record, c));
        }
    }
    ti_buffer_text(b, "\n");
}

/* ---- the file ------------------------------------------------------------------------------------------- */

static void close_quietly(tithe_trace_file *file)
{
    if (file->descriptor >= 0) close(file->descriptor);
    ti_buffer_free(&file->line);
    free(file->path);
    free(file);
}

tithe_status tithe_trace_file_open(const char *path, const char *name, tithe_trace_file **file,
                                   tithe_error *error)
{
    if (!path || !name || !file)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A trace needs a path and a name.");
    tithe_trace_file *f = calloc(1, sizeof *f);
    const bool standard = strcmp(path, "-") == 0;
    const char *shown = standard ? "standard output" : path;
    const size_t size = strlen(shown) + 1;
    char *copy = malloc(size);
    if (!f || !copy) {
        free(f);
        free(copy);
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is no memory for a trace.");
    }
    f->path = memcpy(copy, shown, size);
    f->descriptor = standard ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                             : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    f->synced = now();
    struct stat about;
    tithe_status status = TITHE_OK;
    if (f->descriptor < 0 || fstat(f->descriptor, &about) != 0)
        status = fail_write(f, errno, error);
    else
        f->regular = !standard && S_ISREG(about.st_mode); /* what else is in there is not ours to cut */
    if (!status) {
        add_fact(&f->line, "name", name);
        status = put_line(f, error);
    }
    if (status)
        close_quietly(f);
    else
        *file = f;
    return status;
}

tithe_status tithe_trace_file_fact(tithe_trace_file *file, const char *key, const char *value,
                                   tithe_error *error)
{
    if (!file || !value || !ti_key_is_fine(key))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "'%.80s' cannot be the key of a fact.", key ? key : "");
    add_fact(&file->line, key, value);
    return put_line(file, error);
}

tithe_status tithe_trace_file_append(tithe_trace_file *file, const tithe_trace_record *record,
                                     tithe_error *error)
{
    number_locale locale;
    if (!file || !record) return ti_fail(error, TITHE_E_ARGUMENT, 0, "There is no record to append.");
    if (!ti_number_enter(&locale)) return fail_write(file, ENOMEM, error);
    if (!file->header_written) add_header(&file->line);
    add_record(&file->line, record);
    ti_number_leave(&locale);
    const tithe_status status = put_line(file, error);
    if (!status) file->header_written = true;
    return status;
}

tithe_status tithe_trace_file_close(tithe_trace_file *file, tithe_error *error)
{
    if (!file) return TITHE_OK;
    tithe_status status = sync_now(file, error);
    if (close(file->descriptor) != 0 && !status) status = fail_write(file, errno, error);
    file->descriptor = -1;
    close_quietly(file);
    return status;
}
