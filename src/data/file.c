/* file.c - bytes of a file, through libarchive: plain, .gz, .bz2, .xz, .lzma, .zst, .lz4 and .Z look alike.
 *
 * The filters are named one by one: "all" would also bring those that start another program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/status.h"
#include "data/data.h"

enum { BLOCK = 1 << 18, HEAD = 4, NAME = 80 };

struct data_file {
    struct archive *archive; /* NULL: what is in memory */
    const char *memory;
    size_t left;              /* in memory */
    unsigned char head[HEAD]; /* read at once, to see what kind of file it is */
    size_t head_size, head_used;
    char name[NAME + 4]; /* of a long path the end */
};

static void keep_name(data_file *f, const char *path)
{
    const size_t length = strlen(path);
    if (length <= NAME)
        snprintf(f->name, sizeof f->name, "%s", path);
    else
        snprintf(f->name, sizeof f->name, "...%s", path + length - NAME);
}

const char *ti_data_file_name(const data_file *f)
{
    return f->name;
}

void ti_data_file_close(data_file *f)
{
    if (f && f->archive) archive_read_free(f->archive);
    free(f);
}

/* ---- what is wrong ------------------------------------------------------------------------------------------ */

static tithe_status fail_cut(const data_file *f, tithe_error *error)
{
    return ti_fail(error, TITHE_E_FILE, 0, "%s ends early: the file seems cut, so fetch it again.", f->name);
}

/* What libarchive says ends without a point. It says nothing where a .gz lacks its last bytes, and that there is no progress where
 * an .xz does. */
static tithe_status fail(data_file *f, tithe_error *error)
{
    const char *why = archive_error_string(f->archive);
    if (!why || strstr(why, "truncated") || strstr(why, "Truncated") || strstr(why, "No progress"))
        return fail_cut(f, error);
    return ti_fail(error, TITHE_E_FILE, 0, "%s cannot be read to its end (%.80s): fetch it again.", f->name,
                   why);
}

/* Compressed, and so short that libarchive took it for something else. */
static bool is_stump(const data_file *f)
{
    static const char *const marks[] = {"\x1f\x8b", "BZh", "\xfd\x37zX", "\x28\xb5\x2f\xfd"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (ti_data_file_starts_with(f, marks[i], strlen(marks[i]))) return true;
    return false;
}

/* ---- reading ------------------------------------------------------------------------------------------------ */

static tithe_status read_some(data_file *f, char *dst, size_t size, size_t *got, tithe_error *error)
{
    *got = 0;
    if (!f->archive) {
        *got = size < f->left ? size : f->left;
        if (*got == 0) return TITHE_OK; /* there may be no memory at all */
        memcpy(dst, f->memory, *got);
        f->memory += *got;
        f->left -= *got;
        return TITHE_OK;
    }
    while (*got < size) {
        const la_ssize_t n = archive_read_data(f->archive, dst + *got, size - *got);
        if (n < 0) return fail(f, error);
        if (n == 0) break;
        *got += (size_t)n;
    }
    return TITHE_OK;
}

tithe_status ti_data_file_read(data_file *f, void *dst, size_t size, size_t *got, tithe_error *error)
{
    const size_t ahead = f->head_size - f->head_used, first = ahead < size ? ahead : size;
    memcpy(dst, f->head + f->head_used, first);
    f->head_used += first;
    const tithe_status status = read_some(f, (char *)dst + first, size - first, got, error);
    *got += first;
    return status;
}

bool ti_data_file_starts_with(const data_file *f, const void *bytes, size_t size)
{
    return f->head_size >= size && memcmp(f->head, bytes, size) == 0;
}

/* ---- opening ------------------------------------------------------------------------------------------------ */

static tithe_status start(data_file *f, const char *path, tithe_error *error)
{
    struct archive *a = f->archive = archive_read_new();
    if (!a) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to read %s.", f->name);
    archive_read_support_filter_gzip(a);
    archive_read_support_filter_bzip2(a);
    archive_read_support_filter_xz(a);
    archive_read_support_filter_lzma(a);
    archive_read_support_filter_zstd(a);
    archive_read_support_filter_lz4(a);
    archive_read_support_filter_compress(a);
    archive_read_support_format_raw(a);
    archive_read_support_format_empty(a);

    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return ti_fail(error, TITHE_E_FILE, 0, "%s is a directory: name a file in it.", f->name);
    if (access(path, R_OK) != 0)
        return ti_fail(error, TITHE_E_FILE, 0, "%s cannot be opened: is it there, and may you read it?",
                       f->name);
    if (archive_read_open_filename(a, path, BLOCK) != ARCHIVE_OK) return fail(f, error);
    struct archive_entry *entry;
    const int header = archive_read_next_header(a, &entry);
    if (header == ARCHIVE_EOF) { /* an empty file: as if it were in memory, with nothing left */
        archive_read_free(a);
        f->archive = NULL;
        return TITHE_OK;
    }
    if (header != ARCHIVE_OK && header != ARCHIVE_WARN) return fail(f, error);
    const tithe_status status = read_some(f, (char *)f->head, HEAD, &f->head_size, error);
    return !status && is_stump(f) ? fail_cut(f, error) : status;
}

tithe_status ti_data_file_open(const char *path, data_file **file, tithe_error *error)
{
    data_file *f = calloc(1, sizeof *f);
    if (!f) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to open a file.");
    keep_name(f, path);
    const tithe_status status = start(f, path, error);
    if (status)
        ti_data_file_close(f);
    else
        *file = f;
    return status;
}

tithe_status ti_data_file_memory(const char *name, const void *bytes, size_t size, data_file **file,
                                 tithe_error *error)
{
    data_file *f = calloc(1, sizeof *f);
    if (!f) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to open a file.");
    keep_name(f, name);
    f->memory = bytes;
    f->left = size;
    *file = f;
    return read_some(f, (char *)f->head, HEAD, &f->head_size, error);
}
