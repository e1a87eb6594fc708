/* refusal.c - see refusal.h. The frame, little-endian: mark | rank, 17 bits, code, 4 bits, and 1 bit for a sum, in 3 bytes |
 * position, 4 bytes, where there is room | CRC-32C of these | zeros. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "exchange/shards.h"
#include "tithe/frame.h"

enum { MARK = 0xe9, WHO_BYTES = 3, SHORT_BYTES = 1 + WHO_BYTES + 4, RANK_BITS = 17, CODE_BITS = 4 };

/* ---- as bytes -------------------------------------------------------------------------------------------- */

static size_t body_of(size_t length)
{
    return length < REFUSAL_BYTES ? 1 + WHO_BYTES : 1 + WHO_BYTES + 4;
}

size_t ti_refusal_write(const exchange_refusal *r, uint8_t *frame, size_t length)
{
    const uint32_t who =
        r->rank | (uint32_t)r->code << RANK_BITS | (uint32_t)r->sum << (RANK_BITS + CODE_BITS);
    const size_t body = body_of(length);
    memset(frame, 0, length);
    put_u32(frame + 1, who);
    frame[0] = MARK;
    if (body > 1 + WHO_BYTES) put_u32(frame + 1 + WHO_BYTES, r->position);
    put_u32(frame + body, tithe_crc32c(frame, body));
    return length;
}

bool ti_refusal_read(const uint8_t *frame, size_t length, exchange_refusal *r)
{
    const size_t body = body_of(length);
    if (length < SHORT_BYTES || frame[0] != MARK || get_u32(frame + body) != tithe_crc32c(frame, body))
        return false;
    const uint32_t who = frame[1] | (uint32_t)frame[2] << 8 | (uint32_t)frame[3] << 16;
    *r = (exchange_refusal){
        .code = (tithe_status)(who >> RANK_BITS & ((1u << CODE_BITS) - 1)),
        .sum = who >> (RANK_BITS + CODE_BITS) & 1,
        .rank = who & ((1u << RANK_BITS) - 1),
        .position = body > 1 + WHO_BYTES ? get_u32(frame + 1 + WHO_BYTES) : REFUSAL_NOWHERE,
    };
    return r->code != TITHE_OK;
}

bool ti_refusal_note(tithe_exchange *ex, const uint8_t *frame, size_t length)
{
    exchange_refusal r;
    if (!ti_refusal_read(frame, length, &r)) return false;
    if (!ex->refusal.code) ex->refusal = r;
    return true;
}

/* ---- a rank that refuses --------------------------------------------------------------------------------- */

exchange_refusal ti_refusal_of(unsigned rank, bool sum, tithe_status status, const tithe_error *why)
{
    const bool known = status == TITHE_E_NONFINITE && !sum && why->position < REFUSAL_NOWHERE;
    return (exchange_refusal){.code = status,
                              .sum = sum,
                              .rank = rank < REFUSAL_NOBODY ? rank : REFUSAL_NOBODY,
                              .position = known ? (uint32_t)why->position : REFUSAL_NOWHERE};
}

static void fill_with_nan(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = NAN;
}

void ti_refusal_put(tithe_exchange *ex, exchange_worker *w, exchange_refusal refusal)
{
    w->refusal = refusal;
    if (ex->scheme->whole) {
        float *sent = ex->in_place ? ex->in_place : ex->vectors[w - ex->workers];
        fill_with_nan(sent, ex->n);
        w->g = sent; /* not the caller's, which may only be read */
    } else if (ex->scheme->cuts)
        ti_shards_refuse(ex, w);
    else
        w->info = (tithe_frame_info){.bytes = ti_refusal_write(&refusal, w->frame, REFUSAL_BYTES)};
    for (size_t l = 0; w->curve && l < ex->level_count; l++) w->curve[l] = NAN;
}

/* As one number, exact in a double: the largest is the lowest rank's. */
static double number_of(const exchange_refusal *r)
{
    return ((double)(REFUSAL_NOBODY - r->rank) * (1 << CODE_BITS) + (int)r->code) * 0x1p32 + r->position;
}

static exchange_refusal from_number(double number)
{
    const uint64_t all = (uint64_t)number, who = all >> 32;
    return (exchange_refusal){.code = (tithe_status)(who & ((1u << CODE_BITS) - 1)),
                              .rank = REFUSAL_NOBODY - (uint32_t)(who >> CODE_BITS),
                              .position = (uint32_t)all};
}

tithe_status ti_refusal_ask(tithe_exchange *ex, bool sure, tithe_error *error)
{
    double max = 0;
    for (unsigned i = 0; i < ex->config.comm->local; i++)
        if (ex->workers[i].refusal.code) max = fmax(max, number_of(&ex->workers[i].refusal));
    const tithe_status status = ti_comm_fold(ex->config.comm, COMM_MAX, &max, 1, error);
    if (!status && max > 0)
        ex->refusal = from_number(max);
    else if (!status && sure && !ex->refusal.code)
        ex->refusal = (exchange_refusal){TITHE_E_RANGE, true, REFUSAL_NOBODY, REFUSAL_NOWHERE};
    return status;
}

/* ---- what was kept --------------------------------------------------------------------------------------- */

void ti_refusal_keep(exchange_copy *copy, const float *kept, size_t begin, size_t count, uint32_t step)
{
    if (!copy->numbers || !kept) return;
    if (count) memcpy(copy->numbers + begin, kept + begin, count * sizeof *kept);
    *copy = (exchange_copy){copy->numbers, begin, count, step, true};
}

/* Was there such a copy? */
static bool put_back(exchange_copy *copy, float *kept, uint32_t step)
{
    if (!copy->made || copy->step != step) return false;
    if (copy->count) memcpy(kept + copy->begin, copy->numbers + copy->begin, copy->count * sizeof *kept);
    copy->made = false;
    return true;
}

void ti_refusal_drop(tithe_exchange *ex, uint32_t step)
{
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        exchange_worker *w = &ex->workers[i];
        if (put_back(&w->before, w->residual, step) && ex->scheme->whole) w->owes = true;
        w->state = WORKER_IDLE;
    }
    put_back(&ex->server.before, ex->server.residual, step);
    put_back(&ex->aggregate_before, ex->aggregate, step);
    if (ex->learned_before && ex->learned_at == step) tithe_exchange_relearn(ex, ex->learned_before);
    ti_exchange_forget(ex);
    for (unsigned l = 0; l < ex->lane_count; l++) {
        ex->totals.encode += ex->lanes[l].seconds / ex->lane_count;
        ex->lanes[l].seconds = 0;
    }
    ex->step = step + 1;
}

/* ---- what is said ---------------------------------------------------------------------------------------- */

/* It is the numbers, and those of the next step may be better. */
static bool is_data(const exchange_refusal *r)
{
    return r->code == TITHE_E_NONFINITE || r->code == TITHE_E_RANGE;
}

static bool can_be_skipped(const tithe_exchange *ex, const exchange_refusal *r)
{
    return ex->config.skip_nonfinite && is_data(r);
}

static void tell_what(const tithe_exchange *ex, const exchange_refusal *r, char *text, size_t room)
{
    const char *back = tithe_codec_spec(ex->config.downlink ? ex->config.downlink : ex->config.codec);
    char who[40] = "A rank", where[40] = "";
    if (r->rank < REFUSAL_NOBODY) snprintf(who, sizeof who, "Rank %u", (unsigned)r->rank);
    if (r->position != REFUSAL_NOWHERE)
        snprintf(where, sizeof where, " at position %lu", (unsigned long)r->position);
    if (r->sum && r->rank == REFUSAL_NOBODY)
        snprintf(text, room, "The sum of all gradients is too large for %.80s", back);
    else if (r->sum)
        snprintf(text, room, "%s has a sum of all gradients that is too large for %.80s", who, back);
    else if (r->code == TITHE_E_NONFINITE)
        snprintf(text, room, "%s has a gradient that is not finite%s", who, where);
    else if (r->code == TITHE_E_RANGE)
        snprintf(text, room, "%s has a gradient that is too large for %.80s%s", who,
                 tithe_codec_spec(ex->config.codec), where);
    else
        snprintf(text, room, "%s cannot make its message (%s)", who, tithe_status_text(r->code));
}

static const char *remedy(const exchange_refusal *r)
{
    if (!is_data(r)) return "open another exchange";
    if (r->sum) return "take `downlink=bf16`, or `on-nonfinite=skip`"; /* each could write its own numbers */
    return "find out why, or take `on-nonfinite=skip`";
}

tithe_status ti_refusal_end(tithe_exchange *ex, float *update, tithe_error *error)
{
    char what[220];
    tithe_error own;
    if (!error) error = &own;
    const exchange_refusal *r = &ex->refusal;
    const size_t position = r->position == REFUSAL_NOWHERE ? 0 : r->position;
    tell_what(ex, r, what, sizeof what);
    if (!can_be_skipped(ex, r)) {
        ti_fail(&ex->failed, r->code, position, "%s, so no rank takes this step: %s.", what, remedy(r));
        *error = ex->failed;
        return r->code;
    }
    fill_with_nan(update, ex->n);
    ex->totals.skipped += comm_is_local(ex->config.comm, 0);
    return ti_fail(error, TITHE_E_SKIPPED, position, "%s, so all ranks skip this step.", what);
}
