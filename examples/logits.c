/* What could come next: logits TEXT [MODEL] prints the five most likely tokens after the text. */
#include <math.h>
#include <solo.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 512, BEST = 5 };

static void print_best(const solo_model *m, float *logits, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += exp((double)logits[i]);
    for (int n = 0; n < BEST; n++) {
        char text[64];
        uint32_t best = 0;
        for (uint32_t i = 1; i < count; i++)
            best = logits[i] > logits[best] ? i : best;
        solo_model_detokenize(m, &best, 1, SOLO_TOKENS_GO_ON | SOLO_TOKENS_SPECIAL, text, sizeof text);
        printf("%5.1f%%  %6u  \"%s\"\n", 100 * exp((double)logits[best]) / sum, best, text);
        logits[best] = -INFINITY;
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return fprintf(stderr, "usage: logits TEXT [MODEL]\n"), 2;
    uint32_t tokens[MOST];
    solo_error e = {0};
    solo_device *d = solo_device_open_with(&(solo_device_options){.own_kernels = true}, &e);
    solo_model *m = solo_model_open(argc > 2 ? argv[2] : NULL, &e);
    solo_session *s = solo_session_open(d, m, NULL, &e);
    size_t count = solo_model_tokenize(m, argv[1], 0, tokens, MOST, &e);
    uint32_t n = count < MOST ? (uint32_t)count : MOST, vocabulary = m ? solo_model_vocabulary(m) : 0;
    float *logits = calloc((size_t)n * vocabulary + 1, sizeof *logits); /* after each of the tokens */
    if (solo_session_logits(s, tokens, n, logits, &e))
        print_best(m, logits + (size_t)(n - 1) * vocabulary, vocabulary);
    else
        fprintf(stderr, "logits: %s\n", e.text);
    free(logits);
    solo_session_close(s);
    solo_model_close(m);
    solo_device_close(d);
    return e.status;
}
