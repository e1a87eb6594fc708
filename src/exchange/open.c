/* open.c - an exchange from two words, for a host program that has no wish for more. */
#include "base/description.h"
#include "exchange/exchange.h"

/* What has to be the same in all processes: better to hear of it now than to hang in the first step. */
static tithe_status agree(tithe_comm *comm, const tithe_exchange *ex, tithe_error *error)
{
    if (comm->server == comm->size) return TITHE_OK; /* that server may be busy with something else */
    description d = {0};
    ti_description_add(&d, "n", "%zu", ex->n);
    ti_description_add(&d, "codec", "%s", tithe_codec_spec(ex->config.codec));
    ti_description_add(&d, "feedback", "%s", ex->config.feedback->name);
    ti_description_add(&d, "scheme", "%s", ex->scheme->name);
    const char *phase = comm->phase;
    comm->phase = "opening an exchange";
    const tithe_status status =
        d.spoilt ? ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to open an exchange.")
                 : ti_comm_agree(comm, d.text, error);
    comm->phase = phase;
    ti_description_free(&d);
    return status;
}

tithe_status tithe_exchange_open(tithe_comm *comm, const char *codec, const char *feedback, size_t n,
                                 tithe_exchange **ex, tithe_error *error)
{
    if (!comm || !codec || !ex)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A group of ranks, a codec and a place for the exchange are needed.");
    const tithe_feedback *keeper = NULL;
    tithe_status status = tithe_feedback_find(feedback ? feedback : "none", &keeper, NULL, error);
    if (status) return status;
    const tithe_codec_options options = {.contractive = keeper->contracts};
    tithe_codec *made = NULL;
    tithe_exchange *opened = NULL;
    status = tithe_codec_create(codec, &options, &made, error);
    if (status) return status;
    const tithe_exchange_config config = {.comm = comm, .codec = made, .feedback = keeper, .seed = 1};
    status = tithe_exchange_create(&config, n, &opened, error);
    if (status) {
        tithe_codec_free(made);
        return status;
    }
    opened->own_codec = made;
    status = agree(comm, opened, error);
    if (status)
        tithe_exchange_free(opened);
    else
        *ex = opened;
    return status;
}
