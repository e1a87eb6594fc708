/* page_data.h - the traces as JSON that may stand inside a <script> element, whatever the texts hold. */
#ifndef REPORT_PAGE_DATA_H
#define REPORT_PAGE_DATA_H

#include "report/buffer.h"
#include "tithe/trace.h"

/* A JSON string in quotes. Characters that HTML or a script could take for their own are written as \u....; bytes
 * that are not UTF-8 become U+FFFD. */
void ti_json_text(buffer *b, const char *text);

/* Text of an HTML element or of a quoted attribute. */
void ti_html_text(buffer *b, const char *text);

/* All that the page draws; docs/report.md says what is in it. False: no memory. */
bool ti_page_data(buffer *b, const tithe_trace *const *traces, size_t count);

#endif
