/* endpoint.h - where processes meet: tcp://host:port or ipc://path. */
#ifndef COMM_ENDPOINT_H
#define COMM_ENDPOINT_H

#include "tithe/status.h"

#include <stdbool.h>

/* Is it one of the two? */
tithe_status ti_endpoint_check(const char *endpoint, tithe_error *error);
bool ti_endpoint_is_v6(const char *endpoint);
/* The file of ipc://path; NULL: there is none. */
const char *ti_endpoint_path(const char *endpoint);

/* Where a worker that goes to `server` listens for the others: any port of the interface that leads there, and no other,
 * or a path beside the server's. */
tithe_status ti_endpoint_beside(const char *server, char *address, size_t room, tithe_error *error);

#endif
