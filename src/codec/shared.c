/* shared.c - the entries of `stochastic` that all have one magnitude: it is written once, and a sign for
 * each.
 *
 * number of such entries | [magnitude] | [coding, places of the exact ones among all entries] | signs The
 * brackets are left out when there is nothing to say: no such entry, or no other. */
#include "codec/codec.h"

#include <math.h>

uint64_t ti_shared_max_bits(tithe_type type, size_t count)
{
    if (count == 0) return 8;
    const uint64_t number = varint_size((uint32_t)count), magnitude = type_size(type), coding = 1;
    /* Places take at most a bit for each entry, and so do signs; both are padded. */
    return 8 * (number + magnitude + coding + 2 * (bytes_of_bits(count) + 1));
}

static void regroup(const workspace *w, size_t count, shared_group *group)
{
    size_t exact = 0, shared = group->exact_count;
    for (size_t i = 0; i < count; i++) {
        if (exact < group->exact_count && w->exact[exact] == i)
            w->regroup[exact++] = w->indices[i];
        else
            w->regroup[shared++] = w->indices[i];
    }
}

shared_group ti_shared_split(const tithe_codec *codec, const void *x, const tithe_selection *s, workspace *w)
{
    shared_group group = {.magnitude = s->shared * s->factor};
    for (size_t i = 0; i < s->count; i++) {
        if (fabs(number_at(codec->type, x, s->indices[i])) < s->exact_from) continue;
        if (codec->type == TITHE_F32)
            ((float *)w->values)[group.exact_count] = ((const float *)w->values)[i];
        else
            ((double *)w->values)[group.exact_count] = ((const double *)w->values)[i];
        w->exact[group.exact_count++] = (uint32_t)i;
    }
    group.shared_count = s->count - group.exact_count;
    group.plan = ti_indices_plan(w->exact, group.exact_count, s->count);
    regroup(w, s->count, &group);
    return group;
}

/* Add the shared magnitude with the signs in the bits at `signs`. */
static void add_signed(const tithe_codec *codec, const uint8_t *signs, const shared_group *group,
                       const workspace *w, const tithe_sink *sink)
{
    tithe_sink at = *sink;
    at.at = w->regroup + group->exact_count;
    for (size_t first = 0; first < group->shared_count; first += TITHE_BLOCK) {
        union {
            float f[TITHE_BLOCK];
            double d[TITHE_BLOCK];
        } block;
        const size_t left = group->shared_count - first, many = left < TITHE_BLOCK ? left : TITHE_BLOCK;
        for (size_t i = 0; i < many; i++) {
            const bool negative = signs[(first + i) / 8] >> (first + i) % 8 & 1;
            const double value = negative ? -group->magnitude : group->magnitude;
            if (codec->type == TITHE_F32)
                block.f[i] = (float)value;
            else
                block.d[i] = value;
        }
        tithe_sink_add(&at, first, &block, many);
    }
}

size_t ti_shared_write(const tithe_codec *codec, const void *x, const shared_group *group, const workspace *w,
                       size_t count, uint8_t *dst, const tithe_sink *sent)
{
    uint8_t *p = put_varint(dst, (uint32_t)group->shared_count);
    if (group->shared_count == 0) return (size_t)(p - dst);
    if (codec->type == TITHE_F32)
        put_f32(p, (float)group->magnitude);
    else
        put_f64(p, group->magnitude);
    p += type_size(codec->type);
    if (indices_have_coding(group->exact_count, count)) {
        *p++ = ti_indices_byte(&group->plan);
        ti_indices_write(&group->plan, w->exact, group->exact_count, count, p);
        p += bytes_of_bits(group->plan.bits);
    }
    memset(p, 0, bytes_of_bits(group->shared_count));
    for (size_t i = 0; i < group->shared_count; i++) {
        const bool negative = number_at(codec->type, x, w->regroup[group->exact_count + i]) < 0;
        p[i / 8] |= (uint8_t)(negative << i % 8);
    }
    add_signed(codec, p, group, w, sent);
    return (size_t)(p - dst) + bytes_of_bits(group->shared_count);
}

bool ti_shared_read(const tithe_codec *codec, const uint8_t *src, size_t length, size_t count, workspace *w,
                    shared_group *group, size_t *used)
{
    const uint8_t *end = src + length;
    uint32_t shared;
    const uint8_t *p = get_varint(src, end, &shared);
    if (!p || shared > count) return false;
    *group = (shared_group){.exact_count = count - shared, .shared_count = shared};
    if (shared) {
        if ((size_t)(end - p) < type_size(codec->type)) return false;
        group->magnitude = codec->type == TITHE_F32 ? (double)get_f32(p) : get_f64(p);
        if (!isfinite(group->magnitude) || signbit(group->magnitude)) return false;
        p += type_size(codec->type);
        if (indices_have_coding(group->exact_count, count)) {
            if (p == end || !ti_indices_from_byte(*p++, &group->plan)) return false;
            if (!ti_indices_read(&group->plan, p, (size_t)(end - p), group->exact_count, count, w->exact))
                return false;
            p += bytes_of_bits(group->plan.bits);
        }
        if ((size_t)(end - p) < bytes_of_bits(shared)) return false;
        if (shared % 8 && p[shared / 8] >> shared % 8) return false;
        p += bytes_of_bits(shared);
    }
    if (!shared)
        for (size_t i = 0; i < count; i++) w->exact[i] = (uint32_t)i;
    regroup(w, count, group);
    *used = (size_t)(p - src);
    return true;
}

void ti_shared_decode(const tithe_codec *codec, const uint8_t *src, size_t used, const shared_group *group,
                      const workspace *w, const tithe_sink *out)
{
    if (group->shared_count)
        add_signed(codec, src + used - bytes_of_bits(group->shared_count), group, w, out);
}
