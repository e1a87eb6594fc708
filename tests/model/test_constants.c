/* test_constants.c - L against eigenvalues found in another way, the constants of rows against known answers, and the
 * noise at a point against its definition, gradient by gradient. */
#include "model/constants.h"
#include "model/problems.h"

/* ---- L --------------------------------------------------------------------------------------------------- */

/* The largest eigenvalue of A'A/N by Jacobi's rotations, which share nothing with Krylov's spaces. */
static double jacobi_largest(const tithe_data *data)
{
    const size_t n = data->features;
    double *m = numbers(n * n), largest = 0;
    for (size_t r = 0; r < data->rows; r++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                m[i * n + j] += value_at(data, r, i) * value_at(data, r, j) / (double)data->rows;
    for (int sweep = 0; sweep < 30; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                if (m[p * n + q] == 0) continue;
                const double angle = (m[q * n + q] - m[p * n + p]) / (2 * m[p * n + q]);
                const double t = (angle < 0 ? -1 : 1) / (fabs(angle) + sqrt(angle * angle + 1));
                const double c = 1 / sqrt(t * t + 1), s = t * c;
                for (size_t k = 0; k < n; k++) {
                    const double a = m[k * n + p], b = m[k * n + q];
                    m[k * n + p] = c * a - s * b;
                    m[k * n + q] = s * a + c * b;
                }
                for (size_t k = 0; k < n; k++) {
                    const double a = m[p * n + k], b = m[q * n + k];
                    m[p * n + k] = c * a - s * b;
                    m[q * n + k] = s * a + c * b;
                }
            }
    for (size_t i = 0; i < n; i++) largest = fmax(largest, m[i * n + i]);
    free(m);
    return largest;
}

static tithe_constants constants_of(const tithe_problem *p)
{
    tithe_constants c = {0};
    tithe_error error = {0};
    if (tithe_problem_constants(p, NULL, &c, &error)) fail_msg("%s", error.text);
    return c;
}

static void L_is_the_largest_eigenvalue(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{1, 1},   {1, 9},    {3, 2},   {10, 40},
                                       {40, 10}, {200, 60}, {60, 61}, {500, 30}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int dense = 0; dense < 2; dense++) {
            tithe_data *data = data_make((data_wanted){shapes[i][0], shapes[i][1], 1, TITHE_TASK_BINARY,
                                                       dense, .density = 0.6, .seed = i});
            const double wanted = jacobi_largest(data);
            const tithe_problem p = problem_of("logistic", data, 1);
            const double L = constants_of(&p).L;
            expect(fabs(L - wanted / 4) <= 1e-10 * wanted, "%zu x %zu: L is %.14g, not %.14g", shapes[i][0],
                   shapes[i][1], L, wanted / 4);
            data_drop(data);
        }
}

/* Eigenvalues that lie close together take power iteration thousands of steps. */
static void L_is_found_among_close_eigenvalues(void **state)
{
    (void)state;
    enum { N = 400 };
    static size_t offsets[N + 1], begin[2] = {0, N};
    static uint32_t indices[N];
    static float values[N];
    static double labels[N];
    for (size_t i = 0; i < N; i++) {
        offsets[i + 1] = i + 1;
        indices[i] = (uint32_t)((i * 37) % N);
        values[i] = 1 + (float)i / N * 0.01f;
        labels[i] = i % 2 ? 1 : -1;
    }
    const tithe_data data = {.rows = N,
                             .features = N,
                             .nonzeros = N,
                             .offsets = offsets,
                             .indices = indices,
                             .values = values,
                             .labels = labels,
                             .total_rows = N,
                             .workers = 1,
                             .local = 1,
                             .begin = begin};
    const tithe_problem p = problem_of("least-squares", &data, 0);
    const double max = (double)values[N - 1], wanted = max * max / N;
    const double L = constants_of(&p).L;
    expect(L <= wanted * (1 + 1e-14) && L >= wanted * (1 - 1e-7), "%.14g, not %.14g", L, wanted);
}

/* f(y) <= f(x) + f'(x)(y - x) + L/2 |y - x|^2, and convex models lie above their tangents. */
static void L_bounds_the_curvature(void **state)
{
    (void)state;
    static const char *const specs[] = {"logistic", "least-squares", "nonconvex-logistic"};
    for (int spec = 0; spec < 3; spec++) {
        const tithe_task task = spec == 1 ? TITHE_TASK_NUMBER : TITHE_TASK_BINARY;
        tithe_data *data = data_make((data_wanted){80, 25, 4, task, .seed = 3});
        const tithe_problem p = problem_of(specs[spec], data, 0.1);
        const double L = constants_of(&p).L + p.model->penalty_curvature * p.l2;
        for (uint64_t trial = 0; trial < 300; trial++) {
            double *x = random_point(25, trial % 3 ? 0.3 : 3, 2 * trial),
                   *y = random_point(25, trial % 2 ? 0.1 : 2, trial), *g = numbers(25), *h = numbers(25);
            const double fx = tithe_problem_loss(&p, NULL, x, g, NULL),
                         fy = tithe_problem_loss(&p, NULL, y, h, NULL);
            double tangent = fx, square = 0;
            for (size_t i = 0; i < 25; i++) {
                tangent += g[i] * (y[i] - x[i]);
                square += (y[i] - x[i]) * (y[i] - x[i]);
            }
            assert_true(fy <= tangent + L / 2 * square + 1e-12 * (1 + fx));
            if (p.model->convex) assert_true(fy >= tangent + p.l2 / 2 * square - 1e-12 * (1 + fx));
            free(x);
            free(y);
            free(g);
            free(h);
        }
        data_drop(data);
    }
}

/* ---- constants of rows ----------------------------------------------------------------------------------- */

static void rows_have_known_constants(void **state)
{
    (void)state;
    static const float values[] = {3, 4, 0, 0, 1, 0, 0, 2, 0, 0}; /* |a|^2: 25, 0, 1, 4, 0 */
    static const double labels[] = {1, -1, 1, 1, -1};
    static const size_t begin[] = {0, 3, 5};
    const tithe_data data = {.rows = 5,
                             .features = 2,
                             .nonzeros = 10,
                             .values = values,
                             .labels = labels,
                             .total_rows = 5,
                             .workers = 2,
                             .local = 2,
                             .begin = begin};
    tithe_problem p = problem_of("logistic", &data, 0.5);
    tithe_constants c = constants_of(&p);
    assert_true(c.L_US == 25.0 / 4 && fabs(c.L_IS - 26.0 / 12) < 1e-15 && fabs(c.L_mean - 30.0 / 20) < 1e-15);
    assert_true(isnan(c.sigma_star) && isnan(c.zeta_star));
    /* the matrix A'A is 10 12 / 12 20 */
    const double a = 10, b = 12, d = 20, largest = (a + d) / 2 + sqrt((a - d) * (a - d) / 4 + b * b);
    expect(fabs(c.L - largest / 20) < 1e-14, "L is %.16g, not %.16g", c.L, largest / 20);
    p = problem_of("least-squares", &data, -1);
    c = constants_of(&p);
    assert_true(c.L_US == 25 && fabs(c.L - largest / 5) < 1e-13 && p.l2 == c.L / 1e4);
}

static void zeros_have_no_curvature(void **state)
{
    (void)state;
    static const float values[12];
    static const double labels[] = {1, -1, 1, -1};
    static const size_t begin[] = {0, 2, 4};
    const tithe_data data = {.rows = 4,
                             .features = 3,
                             .nonzeros = 12,
                             .values = values,
                             .labels = labels,
                             .total_rows = 4,
                             .workers = 2,
                             .local = 2,
                             .begin = begin};
    const tithe_problem p = problem_of("logistic", &data, -1);
    const tithe_constants c = constants_of(&p);
    assert_true(c.L == 0 && c.L_US == 0 && c.L_IS == 0 && c.L_mean == 0 && p.l2 == 0);
}

/* ---- noise ----------------------------------------------------------------------------------------------- */

/* |gradient of row - gradient of worker|^2 for each row, expected over the drawing of a row. */
static void noise_is_its_definition(void **state)
{
    (void)state;
    for (int spec = 0; spec < 2; spec++) {
        enum { D = 9, ROWS = 23, WORKERS = 4 };
        tithe_data *data = data_make((data_wanted){
            ROWS, D, WORKERS, spec ? TITHE_TASK_NUMBER : TITHE_TASK_BINARY, spec == 0, .seed = 5});
        const tithe_problem p = problem_of(spec ? "least-squares" : "logistic", data, 0.1);
        double *x = random_point(D, 0.5, 1);
        long double uniform = 0, importance = 0, own = 0, zeta = 0, g[D], row[D];
        double
            weights[ROWS]; /* of draws with P(i) in proportion to i + 1, counted from a worker's first row */
        for (unsigned w = 0; w < WORKERS; w++) {
            const size_t from = data->begin[w], to = data->begin[w + 1];
            const long double m = to - from, share = WORKERS * m / ROWS;
            long double lengths = 0;
            for (size_t i = from; i < to; i++)
                for (size_t j = 0; j < D; j++) lengths += powl((long double)value_at(data, i, j), 2);
            true_sum(&p, from, to, share / m, x, g);
            for (size_t j = 0; j < D; j++) zeta += g[j] * g[j] / WORKERS;
            for (size_t i = from; i < to; i++) {
                long double length = 0;
                for (size_t j = 0; j < D; j++) length += powl((long double)value_at(data, i, j), 2);
                true_sum(&p, i, i + 1, share, x, row);
                for (size_t j = 0; j < D; j++) uniform += (row[j] - g[j]) * (row[j] - g[j]) / m / WORKERS;
                const long double drawn = (i - from + 1) / (m * (m + 1) / 2);
                weights[i] = (double)(share / (m * drawn));
                true_sum(&p, i, i + 1, share / (m * drawn), x, row);
                for (size_t j = 0; j < D; j++) own += drawn * (row[j] - g[j]) * (row[j] - g[j]) / WORKERS;
                if (length == 0) continue; /* never drawn */
                const long double chance = length / lengths;
                true_sum(&p, i, i + 1, share / (m * chance), x, row);
                for (size_t j = 0; j < D; j++)
                    importance += chance * (row[j] - g[j]) * (row[j] - g[j]) / WORKERS;
            }
        }
        tithe_constants c = constants_of(&p);
        assert_int_equal(tithe_problem_noise(&p, NULL, x, &c, NULL), TITHE_OK);
        expect(fabsl((long double)c.sigma_star - uniform) < 1e-13L, "%.16g, not %.16Lg", c.sigma_star,
               uniform);
        expect(fabsl((long double)c.sigma_star_IS - importance) < 1e-13L, "%.16g, not %.16Lg",
               c.sigma_star_IS, importance);
        double sigma = NAN;
        assert_int_equal(ti_noise(&p, NULL, x, weights, &c, &sigma, NULL), TITHE_OK);
        expect(fabsl((long double)sigma - own) < 1e-13L * own, "%.16g, not %.16Lg", sigma, own);
        expect(fabsl((long double)c.zeta_star - zeta) < 1e-13L, "%.16g, not %.16Lg", c.zeta_star, zeta);
        free(x);
        data_drop(data);
    }
}

/* ---- a process is lost ------------------------------------------------------------------------------------ */

static unsigned sends_left;

static tithe_status send_some(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                              tithe_error *error)
{
    (void)self, (void)from, (void)bytes, (void)length;
    if (sends_left-- > 0) return TITHE_OK;
    sends_left = 0;
    error->position = to;
    snprintf(error->text, sizeof error->text, "Rank %u is gone.", to);
    return error->code = TITHE_E_PEER;
}

static tithe_status receive_zeros(void *self, unsigned at, unsigned from, void *bytes, size_t length,
                                  double deadline, tithe_error *error)
{
    (void)self, (void)at, (void)from, (void)deadline, (void)error;
    memset(bytes, 0, length);
    return TITHE_OK;
}

static tithe_status flush_nothing(void *self, double deadline, tithe_error *error)
{
    (void)self, (void)deadline, (void)error;
    return TITHE_OK;
}

/* Numbers of rows are found together; the sentence is about the process, not about memory. Nothing that takes all rows is
 * tried with a share. */
static void tell_nobody(void *self, const char *why)
{
    (void)self, (void)why;
}

static void a_lost_process_is_named(void **state)
{
    (void)state;
    const tithe_transport lossy = {
        .send = send_some, .receive = receive_zeros, .flush = flush_nothing, .give_up = tell_nobody};
    tithe_data *data = data_make((data_wanted){50, 10, 1, TITHE_TASK_BINARY, true, .seed = 3});
    data->workers = 2;
    data->total_rows = 100;
    for (unsigned sends = 0; sends < 2; sends++) {
        tithe_comm comm = {.size = 2, .local = 1, .transport = &lossy};
        tithe_problem p = problem_of("logistic", data, 1);
        p.comm = &comm;
        sends_left = sends;
        tithe_constants c;
        tithe_error error = {0};
        double L, x[10] = {1};
        tithe_optimum o = {.x = x};
        assert_int_equal(ti_smoothness(&p, NULL, NULL, &L, &error), TITHE_E_ARGUMENT);
        assert_int_equal(tithe_problem_constants(&p, NULL, &c, NULL), TITHE_E_ARGUMENT);
        assert_int_equal(tithe_problem_optimum(&p, NULL, NULL, &o, &error), TITHE_E_ARGUMENT);
        assert_int_equal(sends_left, sends);
        assert_int_equal(ti_row_constants(&p, &c, &error), TITHE_E_PEER);
        expect(strncmp(error.text, "Rank 1 is gone", 14) == 0, "%s", error.text);
    }
    data_drop(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(L_is_the_largest_eigenvalue), cmocka_unit_test(L_is_found_among_close_eigenvalues),
        cmocka_unit_test(L_bounds_the_curvature),      cmocka_unit_test(rows_have_known_constants),
        cmocka_unit_test(zeros_have_no_curvature),     cmocka_unit_test(noise_is_its_definition),
        cmocka_unit_test(a_lost_process_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
