/* handshake.c - the handshake: everybody tells the server what it was started with, and the server tells everybody whether that
 * is the same. A text may have any length, so its length goes ahead of it. */
#include "comm/handshake.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/description.h"

enum {
    MAX_TEXT = 1 << 24, /* what claims to be longer is no description */
    VERDICT = sizeof(((tithe_error *)0)->text)
};

static tithe_status fail_memory(tithe_error *error)
{
    return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to compare what ranks have.");
}

static tithe_status send_text(tithe_comm *comm, const char *text, tithe_error *error)
{
    uint8_t length[8];
    put_u64(length, strlen(text));
    tithe_status status = ti_comm_send(comm, comm->first, comm->server, length, sizeof length, error);
    if (!status) status = ti_comm_send(comm, comm->first, comm->server, text, strlen(text), error);
    return status ? status : ti_comm_flush(comm, error);
}

static tithe_status receive_text(tithe_comm *comm, unsigned from, char **text, tithe_error *error)
{
    uint8_t bytes[8];
    const tithe_status status = ti_comm_receive(comm, comm->server, from, bytes, sizeof bytes, error);
    if (status) return status;
    const uint64_t length = get_u64(bytes);
    if (length > MAX_TEXT)
        return ti_fail(error, TITHE_E_CORRUPT, from, "Rank %u describes its run in %llu letters.", from,
                       (unsigned long long)length);
    *text = calloc((size_t)length + 1, 1);
    if (!*text) return fail_memory(error);
    return ti_comm_receive(comm, comm->server, from, *text, (size_t)length, error);
}

/* A process that could not even begin says why under this key. */
static const char failure[] = "failure";

/* Both write into `verdict`, which stays empty where all is well. */
static void hear_failure(const char *text, unsigned rank, tithe_error *verdict)
{
    description_row row;
    char why[sizeof verdict->text];
    if (verdict->text[0] || !ti_description_find(text, failure, &row)) return;
    ti_description_copy(&row, why, sizeof why, NULL);
    ti_fail(verdict, TITHE_E_MISMATCH, rank, "Rank %u: %s", rank, why);
}

static void compare(const char *first, const char *theirs, unsigned rank, tithe_error *verdict)
{
    description_difference d;
    hear_failure(theirs, rank, verdict);
    if (verdict->text[0] || !ti_description_differ(first, theirs, NULL, &d)) return;
    ti_fail(verdict, TITHE_E_MISMATCH, rank,
            "Rank 0 has %s %s, but rank %u has %s %s: start all with the same options.", d.key, d.first, rank,
            d.key, d.second);
}

static tithe_status announce(tithe_comm *comm, const tithe_error *verdict, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < comm->size && !status; r++)
        if (r != comm->server) status = ti_comm_send(comm, comm->server, r, verdict->text, VERDICT, error);
    if (!status) status = ti_comm_flush(comm, error);
    if (!status && verdict->text[0]) return ti_fail(error, TITHE_E_MISMATCH, 0, "%s", verdict->text);
    return status;
}

tithe_status ti_comm_judge(tithe_comm *comm, const char *text, const comm_service *service,
                           tithe_error *error)
{
    tithe_error verdict = {0};
    char *first = NULL; /* of rank 0, where that is elsewhere */
    tithe_status status = text ? TITHE_OK : receive_text(comm, 0, &first, error);
    if (!status) hear_failure(text ? text : first, 0, &verdict);
    for (unsigned r = 1; r < comm->size && !status; r++) {
        char *theirs = NULL;
        status = receive_text(comm, r, &theirs, error);
        if (!status) compare(text ? text : first, theirs, r, &verdict);
        free(theirs);
    }
    if (!status && !verdict.text[0] && service && service->accept)
        service->accept(service->context, first, &verdict);
    free(first);
    return status ? status : announce(comm, &verdict, error);
}

static tithe_status hear_verdict(tithe_comm *comm, const char *text, tithe_error *error)
{
    char verdict[VERDICT];
    tithe_status status = send_text(comm, text, error);
    if (!status) status = ti_comm_receive(comm, comm->first, comm->server, verdict, sizeof verdict, error);
    verdict[sizeof verdict - 1] = 0;
    if (!status && verdict[0]) return ti_fail(error, TITHE_E_MISMATCH, 0, "%s", verdict);
    return status;
}

tithe_status ti_comm_agree(tithe_comm *comm, const char *text, tithe_error *error)
{
    if (!comm->transport || comm->local == comm->size) return TITHE_OK;
    tithe_status status = ti_comm_call_judge(comm, error);
    if (status) return status;
    status = comm->first == comm->server ? ti_comm_judge(comm, text, NULL, error)
                                         : hear_verdict(comm, text, error);
    comm->all_know = status == TITHE_E_MISMATCH && !comm->failed.code;
    return status;
}

void ti_comm_disagree(tithe_comm *comm, const char *why)
{
    description d = {0};
    ti_description_add(&d, failure, "%s", why);
    if (d.spoilt)
        tithe_comm_give_up(comm, why);
    else
        ti_comm_agree(comm, d.text, NULL);
    ti_description_free(&d);
}
