/* frames.c - lengths, headers, index bits, value bits. See decoding.c for what decoding does. */
#include "check/frames.h"

#include "check/stats.h"

void ti_check_size_rows(const check_run *run, check_output *out)
{
    const check_frames *alone = &run->seen[TITHE_SELF_CONTAINED], *exchange = &run->seen[TITHE_EXCHANGE];
    const size_t frames = alone->frames + exchange->frames;
    const size_t n = run->vectors->longest;
    if (frames == 0) return;

    if (codec_claims(run->codec, n).traits & TITHE_FIXED_SIZE) {
        const check_frames *worse = exchange->uneven > alone->uneven ? exchange : alone;
        ti_check_row(out, "fixed size", 0, (double)worse->uneven, worse->uneven == 0,
                     "bytes by which two of %zu frames for the same n differ at most, on %s", frames,
                     worse->uneven ? worse->uneven_on : "every vector");
    }
    const check_frames *fuller = exchange->fullest > alone->fullest ? exchange : alone;
    ti_check_row(out, "length", 1, fuller->fullest, fuller->fullest <= 1,
                 "bytes over min(length(n, entries), bound(n)), fullest of %zu frames on %s", frames,
                 fuller->fullest_on);
    ti_check_row(out, "header", 24, (double)alone->header, alone->header <= 24,
                 "bytes of header and checksum, longest of %zu self-contained frames", alone->frames);
    ti_check_row(out, "exchange header", 12, (double)exchange->header, exchange->header <= 12,
                 "bytes of header and checksum, longest of %zu frames in exchange form", exchange->frames);
}

/* Index sets of a Gaussian vector are uniform: any k of n positions are equally likely, so log2 C(n, k) bits
 * are what any code needs on average. A code of gaps comes within a few per cent once there are enough of
 * them. */
static void index_row(const check_run *run, check_output *out)
{
    const double n = (double)run->vectors->list[0].n, entries = (double)run->info.entries;
    const double bits = (double)run->info.index_bits;
    if (tithe_codec_selector(run->codec)->source != TITHE_INDICES_SENT) {
        ti_check_row(out, "index bits", 0, bits, bits == 0,
                     "n=%.0f, %.0f entries; both ends know the indices", n, entries);
        return;
    }
    const double share = entries / n;
    if (entries < 500 || share > 0.6) return; /* nothing is claimed there but `length` */
    const double entropy = ti_check_log2_subsets(n, entries), bound = share <= 0.3 ? 1.03 : 1.05;
    ti_check_row(out, "index bits", bound, bits / entropy, bits <= bound * entropy,
                 "n=%.0f, %.0f entries: %.3f bits per index, entropy %.3f", n, entries, bits / entries,
                 entropy / entries);
}

/* What the length formula leaves for a value after header, checksum and the indices as they came. */
static void value_row(const check_run *run, check_output *out)
{
    const tithe_frame_info *info = &run->info;
    const size_t n = run->vectors->list[0].n;
    if (info->entries == 0) return;
    const double length = (double)tithe_codec_length(run->codec, n, info->entries, TITHE_SELF_CONTAINED);
    const double entries = (double)info->entries;
    const double room = 8 * (length - (double)info->header_bytes - 4) - (double)info->index_bits;
    const double bits = (double)info->value_bits;
    ti_check_row(out, "value bits", room / entries, bits / entries, bits <= room,
                 "n=%zu, %zu entries: bits per value, against what length(n, entries) leaves for it", n,
                 info->entries);
}

static void merge(check_frames *all, const check_frames *more)
{
    if (more->fullest > all->fullest) all->fullest = more->fullest, all->fullest_on = more->fullest_on;
    if (more->header > all->header) all->header = more->header;
    all->frames += more->frames;
}

/* A few frames in either form from a Gaussian vector of n entries. */
static tithe_status measure(check_run *run, size_t n, bool last_size, check_output *out, bool *enough)
{
    check_vectors vectors;
    check_run longer;
    tithe_status status = ti_check_vectors_gaussian(run->codec, run->seed, n, &vectors);
    if (status != TITHE_OK) return status;
    status = ti_check_run_open(run->codec, run->seed, &vectors, &longer);
    if (status == TITHE_OK) {
        tithe_call late = ti_check_run_call(&longer, 0, 0, TITHE_SELF_CONTAINED);
        late.step = UINT32_MAX; /* the longest there is on the wire */
        const bool fine = ti_check_run_encode(&longer, &late, &vectors.list[0]) &&
                          ti_check_run_trial(&longer, 0, 0, TITHE_EXCHANGE) &&
                          ti_check_run_trial(&longer, 0, 0, TITHE_SELF_CONTAINED);
        const bool sent = tithe_codec_selector(run->codec)->source == TITHE_INDICES_SENT;
        *enough = !fine || !sent || longer.info.entries >= 500;
        if (fine && (*enough || last_size)) {
            index_row(&longer, out);
            value_row(&longer, out);
        }
        for (int form = 0; form < 2; form++) merge(&run->seen[form], &longer.seen[form]);
        if (!fine && run->failures == 0) run->error = longer.error, run->failed_on = "a long gaussian";
        run->failures += longer.failures;
        ti_check_run_close(&longer);
    }
    ti_check_vectors_free(&vectors);
    return status;
}

tithe_status ti_check_bit_rows(check_run *run, check_output *out)
{
    /* Codecs that keep a small share need a longer vector to have 500 entries. */
    const size_t lengths[] = {20000, 640000};
    const size_t count = sizeof lengths / sizeof *lengths;
    bool enough = false;
    tithe_status status = TITHE_OK;
    for (size_t i = 0; i < count && !enough && status == TITHE_OK; i++)
        status = measure(run, lengths[i], i + 1 == count, out, &enough);
    return status;
}
