/* idx.c - IDX images, the format of MNIST: a big-endian header, then a byte for each pixel.
 *
 *   images   00 00 08 03 | u32 count | u32 height | u32 width | count * height * width bytes
 *   labels   00 00 08 01 | u32 count | count bytes
 *
 * Pixels become 0 ... 1. A file of images finds its labels by its name: ...images-idx3... has ...labels-idx1... beside
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "data/data.h"

enum { PATH = 4096, PIECE = 1 << 16 };

static const unsigned char image_mark[4] = {0, 0, 8, 3}, label_mark[4] = {0, 0, 8, 1};

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

bool ti_data_is_idx(const data_file *file)
{
    return ti_data_file_starts_with(file, image_mark, sizeof image_mark);
}

static tithe_status too_short(const data_file *file, tithe_error *error)
{
    return ti_fail(error, TITHE_E_DATA, 0, "%s ends before all that its header announces.",
                   ti_data_file_name(file));
}

static tithe_status read_exactly(data_file *file, void *dst, size_t size, tithe_error *error)
{
    size_t got;
    const tithe_status status = ti_data_file_read(file, dst, size, &got, error);
    return status ? status : got == size ? TITHE_OK : too_short(file, error);
}

static tithe_status expect_end(data_file *file, tithe_error *error)
{
    char more;
    size_t got;
    const tithe_status status = ti_data_file_read(file, &more, 1, &got, error);
    if (status || got == 0) return status;
    return ti_fail(error, TITHE_E_DATA, 0, "%s goes on after all that its header announces.",
                   ti_data_file_name(file));
}

/* ---- labels --------------------------------------------------------------------------------------------------------- */

/* The path with images-idx3 replaced, and any suffix of compression. */
static tithe_status find_labels(const char *path, char *found, size_t size, tithe_error *error)
{
    static const char images[] = "images-idx3", labels[] = "labels-idx1";
    const char *base = strrchr(path, '/'), *at = strstr(base ? base : path, images);
    char plain[PATH];
    if (!at || strlen(path) >= sizeof plain)
        return ti_fail(
            error, TITHE_E_FILE, 0,
            "A file of images is called ...images-idx3..., so that its ...labels-idx1... can be found.");
    memcpy(plain, path, strlen(path) + 1);
    memcpy(plain + (at - path), labels, sizeof labels - 1);
    if (ti_data_find_file(plain, found, size)) return TITHE_OK;
    char *dot = strrchr(plain + (at - path), '.');
    if (dot) *dot = 0;
    if (ti_data_find_file(plain, found, size)) return TITHE_OK;
    const size_t length = strlen(plain);
    return ti_fail(error, TITHE_E_FILE, 0, "The labels of the images are missing: expected %s%s.",
                   length > 120 ? "..." : "", length > 120 ? plain + length - 120 : plain);
}

static tithe_status take_labels(data_file *file, data_rows *d, tithe_error *error)
{
    unsigned char head[8], piece[PIECE];
    if (!ti_data_file_starts_with(file, label_mark, sizeof label_mark))
        return ti_fail(error, TITHE_E_DATA, 0,
                       "%s is no IDX file of labels: expected it to begin with 00 00 08 01.",
                       ti_data_file_name(file));
    tithe_status status = read_exactly(file, head, sizeof head, error);
    if (status) return status;
    if (big_endian(head + 4) != d->rows)
        return ti_fail(error, TITHE_E_DATA, 0, "%s has %u labels for %zu images.", ti_data_file_name(file),
                       big_endian(head + 4), d->rows);
    for (size_t at = 0; at < d->rows && !status; at += PIECE) {
        const size_t n = d->rows - at < PIECE ? d->rows - at : PIECE;
        status = read_exactly(file, piece, n, error);
        for (size_t i = 0; i < n && !status; i++) d->labels[at + i] = piece[i];
    }
    return status ? status : expect_end(file, error);
}

static tithe_status read_labels(const char *path, data_rows *d, tithe_error *error)
{
    char found[PATH];
    data_file *file = NULL;
    tithe_status status = find_labels(path, found, sizeof found, error);
    if (!status) status = ti_data_file_open(found, &file, error);
    if (status) return status;
    status = take_labels(file, d, error);
    ti_data_file_close(file);
    return status;
}

/* ---- images ----------------------------------------------------------------------------------------------------------- */

static tithe_status take_pixels(data_file *file, data_rows *d, tithe_error *error)
{
    float brightness[256];
    for (int b = 0; b < 256; b++) brightness[b] = (float)(b / 255.0);
    unsigned char piece[PIECE];
    tithe_status status = TITHE_OK;
    for (size_t at = 0; at < d->count && !status; at += PIECE) {
        const size_t n = d->count - at < PIECE ? d->count - at : PIECE;
        status = read_exactly(file, piece, n, error);
        for (size_t i = 0; i < n && !status; i++) d->values[at + i] = brightness[piece[i]];
    }
    return status ? status : expect_end(file, error);
}

tithe_status ti_data_read_idx(data_file *images, const char *path, data_rows *d, tithe_error *error)
{
    unsigned char head[16];
    tithe_status status = read_exactly(images, head, sizeof head, error);
    if (status) return status;
    const uint64_t rows = big_endian(head + 4), height = big_endian(head + 8), width = big_endian(head + 12);
    if (!rows || !height || !width || height * width > 1 << 24 ||
        rows > SIZE_MAX / sizeof(float) / (height * width))
        return ti_fail(error, TITHE_E_DATA, 0,
                       "%s has a header for %u images of %u x %u pixels, which makes no sense.",
                       ti_data_file_name(images), (unsigned)rows, (unsigned)height, (unsigned)width);
    d->rows = (size_t)rows;
    d->features = (size_t)(height * width);
    d->count = d->rows * d->features;
    status = ti_data_make_room(d, d->rows, d->count, true, error);
    if (!status) status = read_labels(path, d, error); /* first: a missing file is noticed at once */
    if (!status) status = take_pixels(images, d, error);
    return status;
}

/* ---- by name ------------------------------------------------------------------------------------------------------------ */

static tithe_status read_images(const char *path, data_rows *d, tithe_error *error)
{
    data_file *file = NULL;
    tithe_status status = ti_data_file_open(path, &file, error);
    if (status) return status;
    if (ti_data_is_idx(file))
        status = ti_data_read_idx(file, path, d, error);
    else
        status = ti_fail(error, TITHE_E_DATA, 0,
                         "%s is no IDX file of images: expected it to begin with 00 00 08 03.",
                         ti_data_file_name(file));
    ti_data_file_close(file);
    return status;
}

static tithe_status read_mnist(const data_request *r, const char *file, data_rows *d, tithe_error *error)
{
    char path[PATH], found[PATH];
    const char *directory = ti_data_directory(r->options);
    if (!directory)
        return ti_fail(error, TITHE_E_FILE, 0,
                       "MNIST is looked up in the data directory: set TITHE_DATA to where %s is.", file);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, file) >= sizeof path ||
        !ti_data_find_file(path, found, sizeof found))
        return ti_fail(error, TITHE_E_FILE, 0,
                       "The data directory (%.80s) has no %s, with or without .gz or .xz.", directory, file);
    return read_images(found, d, error);
}

static tithe_status make_mnist(const data_request *r, data_rows *d, tithe_error *error)
{
    return read_mnist(r, "mnist-train-images-idx3-ubyte", d, error);
}

static tithe_status make_mnist_test(const data_request *r, data_rows *d, tithe_error *error)
{
    return read_mnist(r, "mnist-t10k-images-idx3-ubyte", d, error);
}

/* Where Debian's package puts it. */
#define FASHION "/usr/share/datasets/fashion-mnist/"

static tithe_status read_fashion(const char *path, data_rows *d, tithe_error *error)
{
    char found[PATH];
    if (!ti_data_find_file(path, found, sizeof found))
        return ti_fail(
            error, TITHE_E_FILE, 0,
            "Fashion-MNIST is not installed: install Debian's package dataset-fashion-mnist, which puts it "
            "in " FASHION ".");
    return read_images(found, d, error);
}

static tithe_status make_fashion(const data_request *r, data_rows *d, tithe_error *error)
{
    (void)r;
    return read_fashion(FASHION "train-images-idx3-ubyte", d, error);
}

static tithe_status make_fashion_test(const data_request *r, data_rows *d, tithe_error *error)
{
    (void)r;
    return read_fashion(FASHION "t10k-images-idx3-ubyte", d, error);
}

const data_maker ti_data_mnist = {
    {"mnist", "60000 images of digits, 28 x 28, ten classes; from the data directory", "-", NULL},
    make_mnist};
const data_maker ti_data_mnist_test = {{"mnist-test", "its 10000 test images", "-", NULL}, make_mnist_test};
const data_maker ti_data_fashion = {
    {"fashion-mnist", "60000 images of clothes, 28 x 28, ten classes; from Debian's dataset-fashion-mnist",
     "-", NULL},
    make_fashion};
const data_maker ti_data_fashion_test = {{"fashion-mnist-test", "its 10000 test images", "-", NULL},
                                         make_fashion_test};
