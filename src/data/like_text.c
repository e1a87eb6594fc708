/* like_text.c - w8a-like, rcv1-like, url-like: rows that are bags of words.
 *
 * Lengths of rows are quantiles, weights of bins are shares of words, both measured on the real set where it was at
 * hand (w8a; 1000 documents of RCV1, whose tail was stretched to 47236 features). Weights are not frequencies: a word
 * is picked once in a row only, so that a frequent one needs more weight than its frequency says. */
#include "data/like.h"

/* ---- w8a ------------------------------------------------------------------------------------------------------ */

static const like_point w8a_lengths[] = {
    {0, -0.5},     {0.05, -0.15}, {0.10, 0.85},  {0.20, 2.85},  {0.30, 4.85}, {0.40, 6.85}, {0.50, 8.85},
    {0.60, 10.85}, {0.70, 13.85}, {0.80, 17.85}, {0.85, 20.85}, {0.90, 25},   {0.95, 33},   {0.97, 39},
    {0.98, 45},    {0.99, 54},    {0.995, 64},   {0.999, 84},   {1, 114}};

static const like_bin w8a_bins[] = {{0, 5022},   {1, 4100},   {2, 3406},   {3, 3390},   {4, 5572},
                                    {6, 4813},   {8, 7865},   {12, 6364},  {16, 10097}, {24, 8434},
                                    {32, 11089}, {48, 8968},  {64, 7153},  {80, 5861},  {96, 4934},
                                    {112, 3780}, {128, 3249}, {144, 2424}, {160, 1054}, {176, 559},
                                    {192, 332},  {208, 204},  {224, 327},  {256, 143},  {300, 0}};

static const tithe_param w8a_params[] = LIKE_PARAMS(1);

static tithe_status make_w8a(const data_request *r, data_rows *d, tithe_error *error)
{
    static const like_bag bag = {.rows = 49749,
                                 .features = 300,
                                 .longest = 114,
                                 .lengths = w8a_lengths,
                                 .bins = w8a_bins,
                                 .positive = 0.029729,
                                 .noise = 0.4,
                                 .planted_from = 64,
                                 .planted_each = 32,
                                 .rest = -0.22};
    return ti_like_make_bag(&bag, r->params, d, error);
}

const data_maker ti_data_w8a_like = {
    {"w8a-like", "49749 x 300 of ones, 3.88 % of them there, 3 % positive: the statistics of w8a",
     "danilova2022", w8a_params},
    make_w8a};

/* ---- RCV1 ------------------------------------------------------------------------------------------------------- */

static const like_point rcv1_lengths[] = {
    {0, 10},    {0.05, 19}, {0.10, 23},  {0.15, 27},  {0.20, 30},  {0.25, 34},  {0.30, 38},
    {0.35, 43}, {0.40, 47}, {0.45, 53},  {0.50, 58},  {0.55, 64},  {0.60, 70},  {0.65, 77},
    {0.70, 86}, {0.75, 96}, {0.80, 110}, {0.85, 126}, {0.90, 146}, {0.95, 173}, {1, 314}};

static const like_bin rcv1_bins[] = {
    {0, 786},     {1, 573},     {2, 561},     {3, 533},     {4, 985},     {6, 806},     {8, 1094},
    {11, 1643},   {16, 1849},   {22, 2764},   {32, 2989},   {45, 3700},   {64, 4221},   {90, 5100},
    {128, 5619},  {181, 6406},  {256, 7091},  {362, 7332},  {512, 7450},  {724, 7220},  {1024, 6734},
    {1448, 5997}, {2048, 4706}, {2896, 3614}, {4096, 2889}, {5792, 2286}, {8192, 1804}, {11585, 1323},
    {16384, 962}, {23170, 601}, {32768, 361}, {47236, 0}};

/* (1 + ln count) ln(7 + 1 / frequency): the usual weight of a word, but not quite so small for the most frequent
 * ones, since it is they that decide about L. P(count >= k) = 1/k^2. */
static double tf_idf(const like_bag *bag, draw *random, uint32_t rank, uint32_t bin)
{
    enum { MAX = 50 };
    (void)rank;
    const like_bin *b = bag->bins + bin;
    const double words = (double)(b[1].first - b->first);
    const double idf = plain_log(7 + words / (b->weight * 0.00060));
    const double count = floor(1 / sqrt(1 - draw_unit(random)));
    return count < 2 ? idf : idf * (1 + plain_log(count < MAX ? count : MAX));
}

static const tithe_param rcv1_params[] = LIKE_PARAMS(1);

static tithe_status make_rcv1(const data_request *r, data_rows *d, tithe_error *error)
{
    static const like_bag bag = {.rows = 20242,
                                 .features = 47236,
                                 .longest = 314,
                                 .lengths = rcv1_lengths,
                                 .bins = rcv1_bins,
                                 .positive = 0.5183,
                                 .noise = 0.1,
                                 .lean = 0.66,
                                 .leaning_share = 0.66,
                                 .unit_rows = true,
                                 .value = tf_idf};
    return ti_like_make_bag(&bag, r->params, d, error);
}

const data_maker ti_data_rcv1_like = {
    {"rcv1-like",
     "20242 x 47236 word weights, 0.157 % of them there, rows of length 1: the statistics of RCV1",
     "khirirat2021cat", rcv1_params},
    make_rcv1};

/* ---- URL --------------------------------------------------------------------------------------------------------- */

/* The set itself was not at hand: rows, features, values to a row and positives are the published ones, the
 * frequencies an estimate (facts of the host in nearly every row, words of the address in few). */
static const like_point url_lengths[] = {{0, 40}, {0.1, 80}, {0.5, 112}, {0.9, 152}, {1, 230}};
static const like_bin url_bins[] = {{0, 30},    {64, 25},    {512, 18},   {4096, 12},
                                    {32768, 9}, {262144, 6}, {3231961, 0}};

/* 64 features are measurements between 0 and 1, all others are there or not. */
static double url_value(const like_bag *bag, draw *random, uint32_t rank, uint32_t bin)
{
    (void)bag;
    (void)bin;
    return rank < 64 ? draw_unit(random) : 1;
}

static const tithe_param url_params[] = LIKE_PARAMS(0.01);

static tithe_status make_url(const data_request *r, data_rows *d, tithe_error *error)
{
    static const like_bag bag = {.rows = 2396130,
                                 .features = 3231961,
                                 .longest = 414,
                                 .lengths = url_lengths,
                                 .bins = url_bins,
                                 .positive = 0.3306,
                                 .noise = 0.05,
                                 .lean = 0.9,
                                 .leaning_share = 0.5,
                                 .value = url_value};
    return ti_like_make_bag(&bag, r->params, d, error);
}

const data_maker ti_data_url_like = {{"url-like",
                                      "2396130 x 3231961, 116 values to a row: the size of URL; a hundredth "
                                      "of the rows unless scale says more",
                                      "khirirat2021cat", url_params},
                                     make_url};
