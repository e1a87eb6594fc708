/* checkpoint.c - see checkpoint.h. The order of the file is written down once, in pass_all, for both directions. */
#include "learn/checkpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "comm/comm.h"
#include "exchange/control.h"
#include "learn/checkpoint_text.h"

/* ---- numbers as bytes ----------------------------------------------------------------------------------- */

typedef enum kind { KIND_F32, KIND_F64, KIND_U32 } kind;

static size_t width_of(kind what)
{
    return what == KIND_F64 ? 8 : 4;
}

static void to_bytes(kind what, const void *numbers, size_t first, size_t count, uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (what == KIND_F32) put_f32(bytes + 4 * i, ((const float *)numbers)[first + i]);
        if (what == KIND_F64) put_f64(bytes + 8 * i, ((const double *)numbers)[first + i]);
        if (what == KIND_U32) put_u32(bytes + 4 * i, ((const uint32_t *)numbers)[first + i]);
    }
}

static void from_bytes(kind what, void *numbers, size_t first, size_t count, const uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (what == KIND_F32) ((float *)numbers)[first + i] = get_f32(bytes + 4 * i);
        if (what == KIND_F64) ((double *)numbers)[first + i] = get_f64(bytes + 8 * i);
        if (what == KIND_U32) ((uint32_t *)numbers)[first + i] = get_u32(bytes + 4 * i);
    }
}

/* ---- a piece at a time, between the file and whoever has the numbers ------------------------------------- */

typedef struct passage {
    run *r;
    bool loading;
    checkpoint_file *file; /* NULL in all processes but that of rank 0 */
    bool absent;           /* the file does not have it: take the piece as it is */
    uint8_t *piece;        /* COMM_BLOCK bytes */
    tithe_error *error;
} passage;

static tithe_status to_all(const passage *p, uint8_t *bytes, size_t length)
{
    tithe_status status = TITHE_OK;
    for (unsigned rank = 1; rank < p->r->comm->size && !status; rank++)
        status = ti_comm_deliver(p->r->comm, rank, bytes, length, p->error);
    return status;
}

/* `rank` negative: all processes have them. */
static tithe_status pass_piece(const passage *p, int rank, kind what, void *numbers, size_t first,
                               size_t count)
{
    tithe_comm *comm = p->r->comm;
    const size_t length = count * width_of(what);
    const bool mine = rank < 0 || comm_is_local(comm, (unsigned)rank);
    tithe_status status = TITHE_OK;
    if (p->loading) {
        if (p->file && !p->absent) status = ti_checkpoint_get(p->file, p->piece, length, p->error);
        if (!status)
            status = rank < 0 ? to_all(p, p->piece, length)
                              : ti_comm_deliver(comm, (unsigned)rank, p->piece, length, p->error);
        if (!status && mine) from_bytes(what, numbers, first, count, p->piece);
        return status;
    }
    if (mine) to_bytes(what, numbers, first, count, p->piece);
    if (rank >= 0) status = ti_comm_collect(comm, (unsigned)rank, p->piece, length, p->error);
    if (!status && p->file) status = ti_checkpoint_put(p->file, p->piece, length, p->error);
    return status;
}

static tithe_status pass(const passage *p, int rank, kind what, void *numbers, size_t count)
{
    const size_t max = COMM_BLOCK / width_of(what);
    tithe_status status = TITHE_OK;
    for (size_t first = 0; first < count && !status; first += max)
        status = pass_piece(p, rank, what, numbers, first, count - first < max ? count - first : max);
    return status;
}

/* One worker after the other, so that nobody has to hold what several of them sent. */
static tithe_status await_turn(const passage *p, unsigned rank)
{
    uint8_t go = 1;
    return p->loading ? TITHE_OK : ti_comm_deliver(p->r->comm, rank, &go, sizeof go, p->error);
}

/* ---- the server's own, and the owners' ------------------------------------------------------------------------------------ */

/* A server without ranks: rank 0 fetches what it kept into the room that it has for that itself. */
static tithe_status fetch_from_server(const passage *p)
{
    tithe_comm *comm = p->r->comm;
    float *residual = tithe_exchange_server_residual(p->r->exchange);
    if (!ti_comm_has_own_server(comm) || comm->first != 0 || !residual || p->r->exchange->scheme->cuts)
        return TITHE_OK;
    const tithe_status status = ti_comm_call_state(comm, false, p->r->step, p->error);
    return status ? status
                  : ti_comm_receive(comm, 0, comm->server, residual, p->r->size * sizeof *residual, p->error);
}

/* Owners of parts, likewise: one after the other, a block at a time. */
static tithe_status fetch_from_owner(const passage *p, unsigned rank, unsigned bucket)
{
    tithe_comm *comm = p->r->comm;
    const size_t max = COMM_BLOCK / sizeof(float);
    size_t begin;
    size_t left = tithe_exchange_owned(p->r->exchange, rank, bucket, &begin);
    tithe_status status = left ? await_turn(p, rank) : TITHE_OK;
    for (float *at = tithe_exchange_server_residual(p->r->exchange) + begin; left && !status;) {
        const size_t now = left < max ? left : max;
        status = ti_comm_collect(comm, rank, at, now * sizeof *at, p->error);
        at += now;
        left -= now;
    }
    return status;
}

static tithe_status fetch_from_owners(const passage *p)
{
    tithe_status status = TITHE_OK;
    const tithe_exchange *ex = p->r->exchange;
    if (!tithe_exchange_server_residual(p->r->exchange)) return TITHE_OK;
    for (unsigned rank = 1; ex->scheme->cuts && rank < p->r->comm->size; rank++)
        for (unsigned b = 0; b < tithe_exchange_buckets(ex) && !status; b++)
            status = fetch_from_owner(p, rank, b);
    return status;
}

/* It also learns which step comes next. */
static tithe_status hand_to_server(const passage *p)
{
    tithe_comm *comm = p->r->comm;
    float *residual = tithe_exchange_server_residual(p->r->exchange);
    if (!ti_comm_has_own_server(comm) || comm->first != 0) return TITHE_OK;
    tithe_status status = ti_comm_call_state(comm, true, p->r->step, p->error);
    if (!status && residual)
        status = ti_comm_send(comm, 0, comm->server, residual, p->r->size * sizeof *residual, p->error);
    return status ? status : ti_comm_flush(comm, p->error);
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

/* A number that older files do not have is 0. */
static tithe_status pass_account(const passage *p, int rank, double *account)
{
    const run *r = p->r;
    const bool old = p->file && p->loading && checkpoint_account(r->file.resumed) == ACCOUNT_SHORT;
    tithe_status status = pass(p, rank, KIND_F64, account, ACCOUNT_SHORT);
    passage rest = *p;
    if (old) memset(rest.piece, 0, 8 * (ACCOUNT_NUMBERS - ACCOUNT_SHORT));
    rest.absent = old;
    if (!status)
        status = pass(&rest, rank, KIND_F64, account ? account + ACCOUNT_SHORT : NULL,
                      ACCOUNT_NUMBERS - ACCOUNT_SHORT);
    return status;
}

/* The update that a worker remembers, which lies in the buckets. */
static tithe_status pass_remembered(const passage *p, unsigned rank)
{
    tithe_exchange *ex = p->r->exchange;
    tithe_status status = TITHE_OK;
    for (unsigned b = 0; b < tithe_exchange_buckets(ex) && !status; b++) {
        size_t count;
        float *vector = tithe_exchange_moved(ex, rank, b, &count);
        status = pass(p, (int)rank, KIND_F32, vector, count);
    }
    return status;
}

static tithe_status pass_worker(const passage *p, unsigned rank, uint32_t parts, double *accounts)
{
    run *r = p->r;
    const int of = (int)rank;
    const size_t local = rank - r->comm->first; /* of no use for others' */
    double *account = comm_is_local(r->comm, rank) ? accounts + local * ACCOUNT_NUMBERS : NULL;
    double *momentum = account && r->momentum ? r->momentum + local * r->size : NULL;
    tithe_status status = await_turn(p, rank);
    if (!status) status = pass_account(p, of, account);
    if (!status && parts & PART_STEERED)
        status = pass(p, of, KIND_F64, account ? &r->exchange->control->ranks[local].descent : NULL, 1);
    if (!status && parts & PART_RESIDUAL)
        status = pass(p, of, KIND_F32, tithe_exchange_residual(r->exchange, rank), r->size);
    if (!status && parts & PART_MOMENTUM) status = pass(p, of, KIND_F64, momentum, r->size);
    if (!status && parts & PART_MOVED) status = pass_remembered(p, rank);
    return status;
}

enum { EVERYBODY = -1 };

/* Where the loss was lowest, and how often the run went back there. */
static tithe_status pass_lowest(const passage *p)
{
    run_restart *s = &p->r->restart;
    double numbers[] = {s->lowest, s->count};
    if (!s->x)
        return ti_fail(p->error, TITHE_E_CORRUPT, 0, "'%.100s' holds a state that no run can have.",
                       p->r->o->resume);
    tithe_status status = pass(p, EVERYBODY, KIND_F64, numbers, 2);
    if (!status) status = pass(p, EVERYBODY, KIND_F64, s->x, p->r->size);
    s->lowest = isfinite(numbers[0]) ? numbers[0] : INFINITY;
    s->count = numbers[1] >= 0 && numbers[1] <= MAX_RESTARTS ? (unsigned)numbers[1] : 0;
    return status;
}

/* What scheme and tuner found out: who led, and what came of it. */
static tithe_status pass_learned(const passage *p)
{
    tithe_exchange *ex = p->r->exchange;
    const size_t count = tithe_exchange_learned(ex, NULL);
    if (!count) return TITHE_OK;
    double *numbers = calloc(count, sizeof *numbers);
    if (!numbers) return ti_fail(p->error, TITHE_E_MEMORY, 0, "There is not enough memory for a checkpoint.");
    tithe_exchange_learned(ex, numbers);
    tithe_status status = TITHE_OK;
    if (!p->loading &&
        ti_exchange_waits(&ex->config)) /* every rank knows its own, and zeros for the others */
        status = ti_comm_fold(p->r->comm, COMM_SUM, numbers, count, p->error);
    if (!status) status = pass(p, EVERYBODY, KIND_F64, numbers, count);
    if (!status && p->loading) tithe_exchange_relearn(ex, numbers);
    free(numbers);
    return status;
}

/* The setting, and with it what the scheme has to say; before anything that is kept, which goes into its places then. */
static tithe_status pass_steered(const passage *p)
{
    run *r = p->r;
    tithe_exchange *ex = r->exchange;
    const size_t count = ti_control_save(ex, NULL);
    double *numbers = calloc(count, sizeof *numbers);
    if (!numbers) return ti_fail(p->error, TITHE_E_MEMORY, 0, "There is not enough memory for a checkpoint.");
    tithe_status status = p->loading ? TITHE_OK : ti_control_agree(ex, p->error);
    ti_control_save(ex, numbers);
    if (!status) status = pass(p, EVERYBODY, KIND_F64, numbers, count);
    if (!status && p->loading) status = ti_control_load(ex, numbers, (uint32_t)r->step, p->error);
    free(numbers);
    if (!status && p->loading && p->file &&
        r->file.resumed->learned != count + tithe_exchange_learned(ex, NULL))
        status = ti_fail(p->error, TITHE_E_CORRUPT, 0, "'%.100s' holds a state that no run can have.",
                         r->o->resume);
    return status ? status : pass(p, EVERYBODY, KIND_F32, ex->control->before, r->size);
}

static tithe_status pass_all(const passage *p, double *accounts)
{
    run *r = p->r;
    const uint32_t parts = p->loading ? r->file.parts : ti_checkpoint_parts(r);
    tithe_status status = pass(p, EVERYBODY, KIND_F64, r->x, r->size);
    if (!status && parts & PART_STEERED) status = pass_steered(p);
    if (!status && parts & PART_AGGREGATE)
        status = pass(p, EVERYBODY, KIND_F32, tithe_exchange_aggregate(r->exchange), r->size);
    if (!status && parts & PART_SERVER)
        status = pass(p, EVERYBODY, KIND_F32, tithe_exchange_server_residual(r->exchange), r->size);
    if (!status && parts & PART_ANCHOR)
        status = pass(p, EVERYBODY, KIND_F64, r->estimator->saved(&r->estimate), r->size);
    if (!status && parts & PART_MEAN) status = pass(p, EVERYBODY, KIND_F64, r->average.mean, r->size);
    if (!status && parts & PART_BEFORE) status = pass(p, EVERYBODY, KIND_F64, r->average.before, r->size);
    if (!status && parts & PART_CLIENTS) status = pass(p, EVERYBODY, KIND_U32, r->clients, r->comm->size);
    if (!status && parts & PART_LOWEST) status = pass_lowest(p);
    if (!status) status = pass_learned(p);
    for (unsigned rank = 0; rank < r->comm->size && !status; rank++)
        status = pass_worker(p, rank, parts, accounts);
    return status;
}

/* Runs `work` with memory for a piece and for the accounts of the local workers. */
static tithe_status with_room(passage *p, tithe_status (*work)(const passage *, double *), const char *phase)
{
    tithe_comm *comm = p->r->comm;
    double *accounts = calloc((size_t)comm->local * ACCOUNT_NUMBERS, sizeof *accounts);
    p->piece = calloc(1, COMM_BLOCK);
    tithe_status status;
    comm->phase = phase;
    if (!accounts || !p->piece)
        status = ti_fail(p->error, TITHE_E_MEMORY, 0, "There is not enough memory for a checkpoint.");
    else
        status = work(p, accounts);
    comm->phase = NULL;
    free(accounts);
    free(p->piece);
    return status;
}

/* ---- saving ---------------------------------------------------------------------------------------------- */

static tithe_status save(const passage *p, double *accounts)
{
    run *r = p->r;
    tithe_status status = ti_checkpoint_account(r, accounts, p->error);
    if (!status) status = fetch_from_server(p);
    if (!status) status = fetch_from_owners(p);
    if (!status && p->file) {
        checkpoint_head *head = malloc(sizeof *head);
        uint8_t *bytes = malloc(CHECKPOINT_HEAD + CHECKPOINT_TEXT);
        if (head && bytes) {
            ti_checkpoint_describe(r, head);
            status = ti_checkpoint_put(p->file, bytes, ti_checkpoint_write_head(head, bytes), p->error);
        } else {
            status = ti_fail(p->error, TITHE_E_MEMORY, 0, "There is not enough memory for a checkpoint.");
        }
        free(head);
        free(bytes);
    }
    return status ? status : pass_all(p, accounts);
}

tithe_status ti_checkpoint_save(run *r, tithe_error *error)
{
    if (!r->o->checkpoint || r->file.saved == r->step) return TITHE_OK;
    if (r->set_up.cut) return TITHE_OK; /* whoever went on from it would go on without the penalty */
    ti_run_pause(r);
    checkpoint_file file = {0};
    const bool writes = r->comm->first == 0;
    tithe_status status = writes ? ti_checkpoint_create(r->o->checkpoint, &file, error) : TITHE_OK;
    passage p = {.r = r, .file = writes ? &file : NULL, .error = error};
    if (!status) status = with_room(&p, save, "writing a checkpoint");
    if (!status && writes) status = ti_checkpoint_finish(&file, error);
    ti_checkpoint_close(&file);
    if (!status) r->file.saved = r->step;
    ti_run_go_on(r);
    return status;
}

/* ---- resuming -------------------------------------------------------------------------------------------- */

tithe_status ti_checkpoint_begin(run *r, tithe_error *error)
{
    r->file.saved = UINT64_MAX;
    if (r->comm->first != 0 || r->comm->local == 0) return TITHE_OK;
    if (r->o->resume) {
        r->file.resumed = malloc(sizeof *r->file.resumed);
        if (!r->file.resumed)
            return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to resume.");
        const tithe_status status = ti_checkpoint_open(r->o->resume, &r->file.source, r->file.resumed, error);
        if (status) return status;
    }
    return r->o->checkpoint ? ti_checkpoint_try(r->o->checkpoint, error) : TITHE_OK;
}

tithe_status ti_checkpoint_expect_early(const run *r, tithe_error *error)
{
    return r->file.resumed ? ti_checkpoint_compare_early(r, r->file.resumed, error) : TITHE_OK;
}

tithe_status ti_checkpoint_expect(run *r, tithe_error *error)
{
    if (r->o->checkpoint && tithe_exchange_learned(r->exchange, NULL) > CHECKPOINT_MAX_LEARNED)
        return ti_fail(
            error, TITHE_E_SPEC, 0,
            "A checkpoint has no room for what the scheme learns in %u buckets: take a larger `bucket`.",
            tithe_exchange_buckets(r->exchange));
    const tithe_status status = r->o->checkpoint ? ti_checkpoint_expect_room(r, error) : TITHE_OK;
    if (status) return status;
    return r->file.resumed ? ti_checkpoint_compare(r, r->file.resumed, error) : TITHE_OK;
}

/* What came from the file is not to be trusted to index anything. */
static tithe_status expect_sense(const run *r, tithe_error *error)
{
    bool sensible = true;
    for (size_t i = 0; i < r->size; i++)
        sensible = sensible && isfinite(r->x[i]) && (!r->restart.x || isfinite(r->restart.x[i]));
    if (r->clients) {
        memset(r->active, 0, r->comm->size * sizeof *r->active);
        for (unsigned w = 0; w < r->comm->size && sensible; w++) {
            const unsigned client = r->clients[w];
            sensible = client < r->comm->size && !r->active[client];
            if (sensible) r->active[client] = true;
        }
    }
    if (sensible) return TITHE_OK;
    return ti_fail(error, TITHE_E_CORRUPT, 0, "'%.100s' holds a state that no run can have.", r->o->resume);
}

/* The numbers of the head that all processes need. */
static tithe_status pass_head(const passage *p)
{
    enum { HEAD_NUMBERS = 52 };
    run *r = p->r;
    uint8_t *b = p->piece;
    if (p->file) {
        const checkpoint_head *h = r->file.resumed;
        put_u64(b, h->step);
        put_f64(b + 8, h->epochs);
        put_f64(b + 16, h->average_ratio);
        put_u64(b + 24, h->average_count);
        put_u64(b + 32, h->average_earlier);
        put_u64(b + 40, h->average_steps);
        put_u32(b + 48, h->parts);
        r->started -= h->seconds;
    }
    const tithe_status status = to_all(p, b, HEAD_NUMBERS);
    if (status) return status;
    r->step = get_u64(b);
    r->epochs = get_f64(b + 8);
    r->average.ratio = get_f64(b + 16);
    r->average.count = get_u64(b + 24);
    r->average.earlier = get_u64(b + 32);
    r->average.steps = get_u64(b + 40);
    r->file.parts = get_u32(b + 48);
    return TITHE_OK;
}

static tithe_status load(const passage *p, double *accounts)
{
    tithe_status status = pass_head(p);
    if (!status) status = pass_all(p, accounts);
    if (!status) status = expect_sense(p->r, p->error);
    if (!status) status = hand_to_server(p);
    if (!status) ti_checkpoint_take_account(p->r, accounts);
    return status;
}

tithe_status ti_checkpoint_load(run *r, tithe_error *error)
{
    passage p = {.r = r, .loading = true, .file = r->file.resumed ? &r->file.source : NULL, .error = error};
    const tithe_status status = with_room(&p, load, "reading a checkpoint");
    ti_checkpoint_close(&r->file.source);
    return status;
}
