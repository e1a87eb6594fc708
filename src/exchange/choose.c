/* choose.c - which scheme and which collective a configuration means, and whether all of it goes together. */
#include <math.h>
#include <string.h>

#include "base/family.h"
#include "codec/integers.h"
#include "exchange/exchange.h"
#include "feedback/kinds.h"
#include "tuner/search.h"

static bool is_auto(const char *name)
{
    return !name || strcmp(name, "auto") == 0;
}

/* ---- the scheme ------------------------------------------------------------------------------------------- */

static const char leader[] = "leader";

/* --leader is older than artopk:leader=, and means the same. */
static tithe_status take_leader(const tithe_exchange_config *c, exchange_choice *choice, tithe_error *error)
{
    const tithe_scheme *scheme = choice->scheme;
    if (c->leader && ti_spec_find(scheme->params, leader) < 0) {
        char led[80] = "";
        for (const tithe_scheme *const *s = tithe_schemes(); *s; s++)
            if (ti_spec_find((*s)->params, leader) >= 0) ti_list_add(led, sizeof led, "|", (*s)->name);
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "The scheme '%s' has no leader: take `scheme=%s`, or leave `leader` out.",
                       scheme->name, led);
    }
    const tithe_status status =
        ti_spec_shorthand(scheme->name, scheme->params, leader, c->leader, choice->params, error);
    if (!status) ti_spec_defaults(scheme->params, choice->params);
    return status;
}

const char *ti_exchange_leader_name(const tithe_exchange *ex)
{
    const int place = ti_spec_find(ex->scheme->params, leader);
    return place < 0 ? NULL : tithe_leaders()[(size_t)ex->scheme_params[place]]->name;
}

static tithe_status choose_scheme(const tithe_exchange_config *c, size_t n, exchange_choice *choice,
                                  tithe_error *error)
{
    if (!is_auto(c->scheme)) return tithe_scheme_find(c->scheme, &choice->scheme, choice->params, error);
    for (size_t i = 0; i < TITHE_MAX_PARAMS; i++) choice->params[i] = NAN;
    const tithe_scheme *const *s = tithe_schemes();
    while (*s && !((*s)->suits && (*s)->suits(c, n))) s++;
    choice->scheme = *s;
    return *s ? TITHE_OK : ti_fail(error, TITHE_E_SPEC, 0, "No scheme suits all of this: name one.");
}

/* Does the switch round the sum as the ranks round their vectors? */
static bool rounds_sums(const tithe_exchange_config *c, const tithe_scheme *scheme)
{
    const struct quant_integers *how = scheme->integers ? c->codec->quantizer->integers : NULL;
    return how && how->rounds_sums;
}

/* The way back of a scheme that cuts is as the way there, where nothing else is said; an aggregate has to come back whole. */
static void settle_back(tithe_exchange_config *c, const tithe_scheme *scheme)
{
    if (!c->downlink && rounds_sums(c, scheme)) c->downlink = c->codec;
    if (scheme->cuts && !c->downlink && !c->feedback->aggregates) {
        c->downlink = c->codec;
        if (!c->downlink_tuner && c->tuner->tunes && !c->tuner->open) c->downlink_tuner = c->tuner;
    }
    if (!c->downlink_feedback)
        c->downlink_feedback =
            scheme->cuts && c->downlink && c->feedback->scaled ? &ti_feedback_ec : &ti_feedback_none;
    if (!c->downlink_tuner) c->downlink_tuner = &ti_tuner_fixed;
}

/* ---- its collective --------------------------------------------------------------------------------------- */

/* The name as the scheme lists it; NULL: it does not. */
static const char *listed(const tithe_scheme *scheme, const char *name)
{
    for (const char *const *c = scheme->collectives; *c; c++)
        if (strcmp(*c, name) == 0) return *c;
    return NULL;
}

/* The schedule of frames that go to all is a ring, under a name of its own. */
const tithe_collective *tithe_scheme_collective(const tithe_scheme *scheme, const char *name)
{
    const char *known_as = listed(scheme, name);
    for (const tithe_collective *const *c = tithe_collectives(); known_as && *c; c++)
        if (strcmp((*c)->name, known_as) == 0 || ((*c)->also && strcmp((*c)->also, known_as) == 0)) return *c;
    return NULL;
}

/* As it was asked for, or the scheme's default. */
static const char *name_collective(const tithe_exchange_config *c, const tithe_scheme *scheme, size_t n)
{
    if (!is_auto(c->collective)) return listed(scheme, c->collective);
    return scheme->collective ? scheme->collective(c, n) : scheme->collectives[0];
}

/* "ring|tree": those of the scheme; only such as add in a promised order, if `ordered`. */
static void list_collectives(const tithe_scheme *scheme, bool ordered, char *list, size_t size)
{
    *list = 0;
    for (const char *const *c = scheme->collectives; *c; c++)
        if (!ordered || tithe_scheme_collective(scheme, *c)->ordered) ti_list_add(list, size, "|", *c);
}

static tithe_status choose_collective(const tithe_exchange_config *c, size_t n, exchange_choice *choice,
                                      tithe_error *error)
{
    char list[120];
    const tithe_scheme *scheme = choice->scheme;
    choice->known_as = name_collective(c, scheme, n);
    list_collectives(scheme, choice->known_as != NULL, list, sizeof list);
    if (!choice->known_as)
        return ti_fail(error, TITHE_E_SPEC, 0, "The scheme '%s' runs over %s, not over '%s'.", scheme->name,
                       list, c->collective);
    choice->collective = tithe_scheme_collective(scheme, choice->known_as);
    if (choice->collective->ordered) return TITHE_OK;
    if (c->deterministic)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "`deterministic` refuses the collective '%s', which adds in no promised order: take "
                       "%s.",
                       choice->known_as, list);
    if (!c->comm->transport || !c->comm->transport->all_reduce)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "The collective '%s' is the MPI library's own, and there is none on '%s': take %s.",
                       choice->known_as, c->comm->transport ? c->comm->transport->name : "inproc", list);
    return TITHE_OK;
}

/* ---- does it go together? --------------------------------------------------------------------------------- */

/* Found out here, and not in the first step. A tuner's level is not known yet. */
static tithe_status expect_contraction(const tithe_codec *codec, const tithe_feedback *feedback, size_t n,
                                       tithe_error *error)
{
    if (!codec || !feedback || !feedback->contracts || !codec->has_level) return TITHE_OK;
    const double omega = ti_codec_claims(codec, n).omega;
    if (omega < 1) return TITHE_OK;
    return ti_fail(
        error, TITHE_E_SPEC, 0,
        "%s has omega = %.3g, and under %s what is kept would blow up from 1 on: write scale=contractive.",
        tithe_codec_spec(codec), omega, feedback->name);
}

/* A server can keep what it did not send, and nothing else. */
static bool is_for_server(const tithe_feedback *feedback)
{
    return !feedback->works && !feedback->aggregates;
}

static tithe_status expect_for_server(const tithe_feedback *feedback, tithe_error *error)
{
    char list[80] = "";
    if (is_for_server(feedback)) return TITHE_OK;
    for (const tithe_feedback *const *f = tithe_feedbacks(); *f; f++)
        if (is_for_server(*f)) ti_list_add(list, sizeof list, " or ", (*f)->name);
    return ti_fail(error, TITHE_E_SPEC, 0, "The server's own feedback is %s.", list);
}

static bool is_given(const tithe_codec *codec)
{
    return codec && codec->selector->source == TITHE_INDICES_GIVEN;
}

static tithe_status expect_sense(const tithe_exchange_config *c, const tithe_scheme *scheme, size_t n,
                                 tithe_error *error)
{
    const char *why = NULL;
    if (is_given(c->codec) || is_given(c->downlink))
        why = "The selector 'given' needs somebody who gives it indices: take topk, or `scheme=artopk` with "
              "topk, "
              "where one rank gives them to all.";
    if (!why && scheme->refuse) why = scheme->refuse(c);
    if (!why && c->tuner->refuse) why = c->tuner->refuse(c->codec);
    if (!why) why = ti_exchange_refuse_waiting(c, scheme);
    if (!why && c->downlink && c->downlink_tuner->refuse) why = c->downlink_tuner->refuse(c->downlink);
    if (!why && c->downlink_feedback->keeps && !c->downlink)
        why = "`downlink-feedback` has nothing to keep without `downlink`: a raw frame leaves nothing out.";
    if (!why && c->downlink && c->downlink_tuner->open)
        why = "The way back is not tuned by what happened before: take a downlink_tuner without a state.";
    if (!why && c->shared_level && (!c->tuner->tunes || c->tuner->blind || scheme->whole))
        why = "A shared level has to be tuned: leave the level out of `codec`, or take `tuner=cat`.";
    if (!why && !scheme->whole && c->comm->local > 1 && c->comm->local < c->comm->size)
        why = "Frames go between processes with one rank each, or stay in one process with all of them.";
    if (why) return ti_fail(error, TITHE_E_SPEC, 0, "%s", why);
    tithe_status status = expect_for_server(c->downlink_feedback, error);
    if (!status) status = expect_contraction(c->codec, c->feedback, n, error);
    return status ? status : expect_contraction(c->downlink, c->downlink_feedback, n, error);
}

tithe_status ti_exchange_choose_collective(const tithe_exchange_config *c, size_t n, exchange_choice *choice,
                                           tithe_error *error)
{
    const tithe_status status = choose_collective(c, n, choice, error);
    return status ? status : expect_sense(c, choice->scheme, n, error);
}

tithe_status ti_exchange_choose(tithe_exchange_config *c, size_t n, exchange_choice *choice,
                                tithe_error *error)
{
    *choice = (exchange_choice){0};
    tithe_status status = choose_scheme(c, n, choice, error);
    if (status) return status;
    if (is_auto(c->scheme)) c->scheme = choice->scheme->name; /* its buckets go the same way */
    settle_back(c, choice->scheme);
    status = take_leader(c, choice, error);
    return status ? status : ti_exchange_choose_collective(c, n, choice, error);
}
