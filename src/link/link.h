/* link.h - what others know of a measured link. */
#ifndef LINK_LINK_H
#define LINK_LINK_H

#include "tithe/link.h"

/* The place of the line that holds at so many bytes: points[i] to points[i+1]. */
size_t ti_link_segment(const tithe_link *link, double bytes);

#endif
