/* thin.h - fewer records for drawing, such that the picture stays the same. */
#ifndef REPORT_THIN_H
#define REPORT_THIN_H

#include "tithe/trace.h"

enum { THIN_MIN = 16 };

/* The places of at most `most` (>= THIN_MIN) records, ascending, into indices[most]; returns how many.
 *
 * All of them where they fit. Else the first, the last, and in each of (most - 2) / 4 buckets of neighbours those
 * with the least and the most of two columns: the first of loss, gap, accuracy and average_loss that holds any
 * number, and the first of level, kept and residual that does. Half of the bucket ends are evenly spaced and half
 * in a geometric row, since a logarithmic axis spreads the first records over half of the picture. */
size_t ti_thin(const tithe_trace *trace, size_t max, size_t *indices);

#endif
