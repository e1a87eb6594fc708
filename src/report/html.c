/* html.c - the page: web/report.html with its {{names}} replaced.
 *
 *   {{title}}      the title, as HTML
 *   {{data}}       the traces, as JSON
 *   {{file.js}}    a file of web/, or Chart.js, as it is */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "report/buffer.h"
#include "report/page_data.h"
#include "report/parts.h"
#include "tithe/trace.h"

static const web_part *find_part(const char *name, size_t length)
{
    for (const web_part *p = ti_web_parts; p->name; p++)
        if (strlen(p->name) == length && memcmp(p->name, name, length) == 0) return p;
    return NULL;
}

static bool is(const char *name, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(name, word, length) == 0;
}

/* False: no memory. What was put in is not looked at again, so no text can ask for a replacement. */
static bool fill(buffer *page, const char *title, const tithe_trace *const *traces, size_t count)
{
    static const char name_of_template[] = "report.html";
    const web_part *part = find_part(name_of_template, sizeof name_of_template - 1);
    const char *at = (const char *)part->bytes; /* ends with a NUL of its own */
    for (const char *open; (open = strstr(at, "{{"));) {
        const char *name = open + 2, *close = strstr(name, "}}");
        if (!close) break;
        const size_t length = (size_t)(close - name);
        const web_part *file = find_part(name, length);
        ti_buffer_add(page, at, (size_t)(open - at));
        if (is(name, length, "title"))
            ti_html_text(page, title);
        else if (is(name, length, "data"))
            page->failed = !ti_page_data(page, traces, count);
        else if (file)
            ti_buffer_add(page, file->bytes, file->size);
        at = close + 2;
    }
    ti_buffer_text(page, at);
    return !page->failed;
}

tithe_status tithe_report_write(const char *path, const char *title, const tithe_trace *const *traces,
                                size_t count, tithe_error *error)
{
    if (!path || (!traces && count))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A report needs a path and traces.");
    buffer page = {0};
    tithe_status status;
    if (fill(&page, title ? title : "Tithe report", traces, count))
        status = tithe_output_write(path, page.text, page.length, error);
    else
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is no memory for the report.");
    ti_buffer_free(&page);
    return status;
}
