/* How similar texts are to the first one: embed MODEL TEXT TEXT... */
#include <solo.h>
#include <stdio.h>
#include <stdlib.h>

static float product(const float *a, const float *b, uint32_t width)
{
    float sum = 0;
    for (uint32_t i = 0; i < width; i++)
        sum += a[i] * b[i];
    return sum;
}

int main(int count, char **words)
{
    solo_error e = {0};
    if (count < 4) {
        puts("embed MODEL TEXT TEXT...");
        return 2;
    }
    solo_device *d = solo_device_open(NULL, &e);
    solo_model *m = solo_model_open(words[1], &e);
    solo_embedder_options o = {.normalize = SOLO_NORMALIZE_ON};
    solo_embedder *n = solo_embedder_open(d, m, &o, &e);
    uint32_t width = solo_embedder_width(n);
    float *first = malloc((width + 1) * sizeof *first), *other = malloc((width + 1) * sizeof *other);
    bool ok = solo_embedder_embed(n, words[2], first, &e);
    for (int i = 3; ok && i < count; i++) {
        ok = solo_embedder_embed(n, words[i], other, &e);
        if (ok)
            printf("%.4f %s\n", (double)product(first, other, width), words[i]);
    }
    if (!ok)
        fprintf(stderr, "%s\n", e.text);
    free(first);
    free(other);
    solo_embedder_close(n);
    solo_model_close(m);
    solo_device_close(d);
    return ok ? 0 : 1;
}
