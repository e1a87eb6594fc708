/* test_golden.c - the committed frames: each good one decodes to its committed vector, bit for bit, and its input
 * encodes to the same bytes again; each bad one is refused as corrupt. tests/golden/make.sh makes them anew. */
#include <dirent.h>
#include <unistd.h>

#include "base/bytes.h"
#include "codec/contract.h"

static char golden[3000];

static bool is_folder(const char *path)
{
    DIR *dir = opendir(path);
    if (dir) closedir(dir);
    return dir != NULL;
}

/* The tree is where TITHE_SOURCE says, where this file was compiled, or above the working directory. */
static int find_golden(void **state)
{
    (void)state;
    const char *source = getenv("TITHE_SOURCE");
    if (source) {
        snprintf(golden, sizeof golden, "%s/tests/golden", source);
        if (is_folder(golden)) return 0;
    }
    const char *slash = strrchr(__FILE__, '/');
    snprintf(golden, sizeof golden, "%.*s/../golden", slash ? (int)(slash - __FILE__) : 1,
             slash ? __FILE__ : ".");
    if (is_folder(golden)) return 0;
    char up[200] = "";
    for (int depth = 0; depth < 12; depth++, strcat(up, "../")) {
        snprintf(golden, sizeof golden, "%stests/golden", up);
        if (is_folder(golden)) return 0;
    }
    fprintf(stderr, "tests/golden is not to be found: set TITHE_SOURCE to the tree\n");
    return 1;
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    expect(f != NULL, "%s cannot be read", path);
    uint8_t *data = malloc(1 << 20);
    assert_non_null(data);
    *size = fread(data, 1, 1 << 20, f);
    expect(*size < 1 << 20, "%s is longer than any golden file", path);
    fclose(f);
    data = realloc(data, *size + 1); /* one more, so that text can end with a zero */
    assert_non_null(data);
    data[*size] = 0;
    return data;
}

static uint8_t *read_golden(const char *folder, const char *name, const char *suffix, size_t *size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/%s%s", golden, folder, name, suffix);
    return read_file(path, size);
}

/* Numbers, of so many bytes each and little-endian in their file, as this machine has them. */
static uint8_t *read_numbers(const char *folder, const char *name, const char *suffix, size_t width,
                             size_t *size)
{
    uint8_t *bytes = read_golden(folder, name, suffix, size);
    for (size_t at = 0; at + width <= *size; at += width) {
        const uint32_t single = get_u32(bytes + at);
        const uint64_t both = width == 8 ? get_u64(bytes + at) : 0;
        memcpy(bytes + at, width == 8 ? (const void *)&both : &single, width);
    }
    return bytes;
}

/* ---- the little JSON that make.py writes: one flat object, keys in double quotes -------------------------- */

static const char *json_at(const char *json, const char *key)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(json, quoted);
    return at ? at + strlen(quoted) : NULL;
}

static uint64_t json_number(const char *json, const char *key)
{
    const char *at = json_at(json, key);
    expect(at && *at >= '0' && *at <= '9', "no number %s in %s", key, json);
    return strtoull(at, NULL, 10);
}

static void json_text(const char *json, const char *key, char *out, size_t size)
{
    const char *at = json_at(json, key);
    expect(at && *at == '"', "no text %s in %s", key, json);
    snprintf(out, size, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
}

/* A list of numbers; returns their number, 0 for null or no such key. */
static size_t json_list(const char *json, const char *key, size_t *out, size_t max)
{
    const char *at = json_at(json, key);
    size_t count = 0;
    if (!at || *at != '[') return 0;
    for (at++; *at && *at != ']'; at += *at == ',' ? 2 : 0) {
        char *end;
        expect(count < max, "too many numbers in %s", key);
        out[count++] = (size_t)strtoull(at, &end, 10);
        expect(end != at, "no number at %s", at);
        at = end;
    }
    return count;
}

/* ---- good ------------------------------------------------------------------------------------------------ */

static void expect_good(const char *name)
{
    size_t json_size, frame_size, vector_size, input_size;
    char *json = (char *)read_golden("good", name, ".json", &json_size);
    uint8_t *frame = read_golden("good", name, ".frame", &frame_size);
    char spec[200], input_name[100];
    json_text(json, "spec", spec, sizeof spec);
    json_text(json, "input", input_name, sizeof input_name);
    const bool doubles = strstr(input_name, ".f64") != NULL;
    const size_t number = doubles ? sizeof(double) : sizeof(float);
    uint8_t *vector = read_numbers("good", name, doubles ? ".f64" : ".f32", number, &vector_size);
    uint8_t *input = read_numbers("input", input_name, "", number, &input_size);
    assert_int_equal(input_size, vector_size);

    static size_t numbers[4000];
    static uint32_t given[4000];
    static size_t segments[100];
    const size_t given_count = json_list(json, "indices", numbers, 4000);
    for (size_t i = 0; i < given_count; i++) given[i] = (uint32_t)numbers[i];

    /* Decode as a stranger would. */
    tithe_error error = {0};
    tithe_frame_header h;
    tithe_codec *codec = NULL;
    expect(tithe_frame_read(frame, frame_size, &h, &error) == TITHE_OK, "%s: %s", name, error.text);
    expect(tithe_frame_codec(&h, &codec, &error) == TITHE_OK, "%s: %s", name, error.text);
    const size_t width = type_bytes(h.type), n = h.n;
    expect(n * width == vector_size, "%s: %zu numbers, but %zu bytes", name, n, vector_size);
    tithe_call call = {.seed = json_number(json, "seed"),
                       .rank = (uint32_t)json_number(json, "rank"),
                       .given = given,
                       .given_count = given_count,
                       .segments = segments};
    call.scratch_size = tithe_frame_scratch(&h);
    call.scratch = malloc(call.scratch_size + 1);
    void *y = calloc(n + 1, width);
    expect(decode_any(codec, &call, frame, frame_size, 1, y, n, &error) == TITHE_OK, "%s: %s", name,
           error.text);
    expect(memcmp(y, vector, vector_size) == 0, "%s decodes to another vector", name);
    assert_int_equal(h.step, json_number(json, "step"));
    tithe_codec_free(codec);
    free(call.scratch);
    free(y);

    /* Encode as it was made. */
    codec = codec_with(spec, (tithe_codec_options){doubles ? TITHE_F64 : TITHE_F32, false, false});
    call.step = h.step;
    call.segment_count = json_list(json, "segments", segments, 100);
    call.scratch_size = tithe_codec_scratch(codec, n);
    call.scratch = malloc(call.scratch_size + 1);
    const size_t bound = tithe_codec_bound(codec, n);
    uint8_t *again = malloc(bound);
    tithe_frame_info info = {0};
    const tithe_status status =
        doubles
            ? tithe_encode_f64(codec, &call, (const double *)(void *)input, n, again, bound, &info, &error)
            : tithe_encode(codec, &call, (const float *)(void *)input, n, again, bound, &info, &error);
    expect(status == TITHE_OK, "%s: %s", name, error.text);
    const bool same = info.bytes == frame_size && memcmp(again, frame, frame_size) == 0;
    const bool old = json_at(json, "version"); /* read still, but written in a newer version */
    expect(same == !old, "%s encodes to %s bytes", name, same ? "the same" : "other");

    tithe_codec_free(codec);
    free(call.scratch);
    free(again);
    free(json);
    free(frame);
    free(vector);
    free(input);
}

/* ---- bad ------------------------------------------------------------------------------------------------- */

static void expect_bad(const char *name)
{
    size_t size, text_size;
    uint8_t *read = read_golden("bad", name, ".frame", &size), *frame = malloc(size);
    assert_non_null(frame);
    memcpy(frame, read, size); /* of exact size, so that a sanitizer sees the first byte read beyond it */
    char *why = (char *)read_golden("bad", name, ".txt", &text_size);
    expect(text_size > 5 && why[text_size - 1] == '\n', "%s does not say why it is bad", name);

    tithe_error error = {0};
    tithe_frame_header h;
    tithe_codec *codec = NULL;
    tithe_status status = tithe_frame_read(frame, size, &h, &error);
    if (!status) status = tithe_frame_codec(&h, &codec, &error);
    if (!status) {
        expect(h.n <= 10000, "%s announces %zu numbers, and nobody objects", name, h.n);
        uint8_t y[80000];
        memset(y, 0x22, sizeof y);
        tithe_call call = {.scratch_size = tithe_frame_scratch(&h)};
        call.scratch = malloc(call.scratch_size + 1);
        status = decode_any(codec, &call, frame, size, 1, y, h.n, &error);
        expect(bytes_are(y, sizeof y, 0x22), "%s touched y", name);
        free(call.scratch);
    }
    expect(status == TITHE_E_CORRUPT, "%s (%.*s) got status %d: %s", name, (int)text_size - 1, why, status,
           error.text);
    expect(error.code == TITHE_E_CORRUPT && strlen(error.text) > 10, "%s is refused without a sentence",
           name);
    tithe_codec_free(codec);
    free(read);
    free(frame);
    free(why);
}

static int is_frame(const struct dirent *e)
{
    const size_t length = strlen(e->d_name);
    return length > 6 && strcmp(e->d_name + length - 6, ".frame") == 0;
}

static size_t for_each_frame(const char *folder, void (*question)(const char *name))
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", golden, folder);
    struct dirent **list = NULL;
    const int count = scandir(path, &list, is_frame, alphasort);
    for (int i = 0; i < count; i++) {
        list[i]->d_name[strlen(list[i]->d_name) - 6] = 0;
        question(list[i]->d_name);
        free(list[i]);
    }
    free(list);
    return count > 0 ? (size_t)count : 0;
}

static void good_frames_are_read_and_written_to_the_bit(void **state)
{
    (void)state;
    assert_true(for_each_frame("good", expect_good) >= 100);
}

static void bad_frames_are_refused(void **state)
{
    (void)state;
    assert_true(for_each_frame("bad", expect_bad) >= 75);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_frames_are_read_and_written_to_the_bit),
        cmocka_unit_test(bad_frames_are_refused),
    };
    return cmocka_run_group_tests(tests, find_golden, NULL);
}
