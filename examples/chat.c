/* A conversation with a model: chat [MODEL], a message a line. */
#include <solo.h>
#include <stdio.h>
#include <string.h>

static bool print(void *unused, const char *text, size_t bytes)
{
    (void)unused, (void)bytes;
    fputs(text, stdout);
    fflush(stdout);
    return true; /* go on */
}

int main(int argc, char **argv)
{
    char line[4096];
    solo_error e = {0};
    solo_device *d = solo_device_open(NULL, &e);
    solo_model *m = solo_model_open(argc > 1 ? argv[1] : NULL, &e);
    solo_session_options o = {.sampling = {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .seed = 1}};
    solo_session *s = solo_session_open(d, m, &o, &e);
    while (!e.status && fgets(line, sizeof line, stdin)) {
        solo_answer a;
        line[strcspn(line, "\n")] = 0;
        if (solo_session_chat(s, line, 200, print, NULL, &a, &e))
            printf("\n[%u tokens, %.1f a second]\n", a.answer_tok, a.tok_per_s);
    }
    if (e.status)
        fprintf(stderr, "chat: %s\n", e.text);
    solo_session_close(s);
    solo_model_close(m);
    solo_device_close(d);
    return e.status;
}
