#include "jinja_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lines of {"template": text, "context": {...}, "clock": seconds} on standard input, answered by lines with "text" or "error". */
static int render_lines(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        json_t *job = json_loads(line, JSON_ALLOW_NUL, NULL), *answer = json_object();
        const json_t *template = json_object_get(job, "template"), *context = json_object_get(job, "context");
        err e = {0};
        jinja_output out = {0};
        jinja_template *t = jinja_parse(json_string_value(template), json_string_length(template), &e);
        jinja_run *r = t ? jinja_run_new(t) : NULL;
        const char *name;
        json_t *value;
        if (r)
            jinja_set_clock(r, json_integer_value(json_object_get(job, "clock")));
        json_object_foreach((json_t *)context, name, value) if (r)
        {
            bool own = strstr(name, "_token") != NULL;
            jinja_set(r, name, jinja_of_json(r, value, !own));
        }
        if (r && jinja_render(r, &out, &e)) {
            json_object_set_new(answer, "text", json_stringn(out.text.data, out.text.length));
            str marks = {0};
            for (size_t i = 0; i < out.plain.length; i++)
                str_add(&marks, out.plain.data[i] ? "1" : "0");
            json_object_set_new(answer, "plain", json_string(marks.data ? marks.data : ""));
            str_free(&marks);
        } else
            json_object_set_new(answer, "error", json_string(e.text));
        json_dumpf(answer, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
        putchar('\n');
        fflush(stdout);
        jinja_output_free(&out);
        jinja_run_free(r);
        jinja_template_free(t);
        json_decref(job);
        json_decref(answer);
    }
    free(line);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--render") == 0)
        return render_lines();
    return 0;
}
