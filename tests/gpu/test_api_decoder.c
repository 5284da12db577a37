/* The public API's decoders of weights in memory: transformers' own logits and tokens, and what is refused. */
#include "api_device.h"
#include "golden.h"
#include "model/safetensors.h"

enum { CONTEXT = 64 };

/* A folder as someone has it who loaded it otherwise. */
typedef struct loaded {
    char *config;
    safetensors *file;
    solo_tensor *tensors;
    uint32_t count;
    json_t *golden;
    uint32_t prompt[CONTEXT], prompt_tok;
} loaded;

static loaded load(const char *folder)
{
    loaded l = {0};
    err e = {0};
    char path[GOLDEN_PATH_BYTES];
    size_t length;
    snprintf(path, sizeof path, "%s/config.json", folder);
    l.config = file_read(path, 1 << 20, &length, &e);
    l.file = safetensors_open(folder, &e);
    if (!l.config || !l.file)
        fail_msg("%s", e.text);
    l.count = (uint32_t)safetensors_count(l.file);
    l.tensors = calloc(l.count, sizeof *l.tensors);
    for (uint32_t i = 0; i < l.count; i++) {
        const safetensor *t = safetensors_at(l.file, i);
        solo_tensor *to = &l.tensors[i];
        *to = (solo_tensor){.name = t->name, .data = t->data, .bytes = t->bytes, .rank = t->dim_count};
        to->type = t->type == TYPE_F32 ? 7 : t->type == TYPE_F16 ? 6 : 13;
        uint64_t stride = 1;
        for (uint32_t d = t->dim_count; d-- > 0; stride *= t->dims[d]) {
            to->dims[d] = (uint32_t)t->dims[d];
            to->strides[d] = stride;
        }
    }
    l.golden = golden_of(folder);
    json_t *prompt = json_object_get(l.golden, "prompt");
    l.prompt_tok = (uint32_t)json_array_size(prompt);
    assert_in_range(l.prompt_tok, 2, CONTEXT - 1);
    for (uint32_t i = 0; i < l.prompt_tok; i++)
        l.prompt[i] = number_at(prompt, i);
    return l;
}

static void unload(loaded *l)
{
    free(l->config);
    free(l->tensors);
    safetensors_close(l->file);
    json_decref(l->golden);
}

static solo_decoder *decoder_of(const loaded *l, solo_level level, solo_error *e)
{
    solo_session_options o = {.level = level, .context = CONTEXT, .exact_cache = true};
    return solo_decoder_new(device, l->config, l->tensors, l->count, &o, e);
}

static void as_transformers(const char *folder, solo_level level)
{
    solo_error e = {0};
    loaded l = load(folder);
    solo_decoder *c = decoder_of(&l, level, &e);
    if (!c)
        fail_msg("%s: %s", folder, e.text);
    float *logits = calloc(solo_decoder_vocabulary(c), sizeof *logits);
    json_t *greedy = json_object_get(l.golden, "greedy");
    uint32_t made[CONTEXT], most = (uint32_t)json_array_size(greedy);
    assert_true(solo_decoder_logits(c, l.prompt, l.prompt_tok, logits, &e));
    expect_logits(folder, l.prompt_tok - 1, golden_logits(l.golden, l.prompt_tok - 1), logits);
    for (int again = 0; again < 2; again++) { /* the second time, most of the prompt is in the cache */
        assert_int_equal(solo_decoder_generate(c, l.prompt, l.prompt_tok, NULL, NULL, 0, made, most, &e), most);
        for (uint32_t i = 0; i < most; i++)
            assert_int_equal(made[i], number_at(greedy, i));
    }
    assert_int_equal(solo_decoder_level(c), level);
    assert_true(level < SOLO_LEVEL_TOKEN || solo_decoder_dispatches(c) == 1);
    uint32_t stop = made[most / 2], first = 0;
    while (made[first] != stop)
        first++;
    assert_int_equal(solo_decoder_generate(c, l.prompt, l.prompt_tok, NULL, &stop, 1, made, most, &e), first + 1);
    assert_int_equal(made[first], stop);
    free(logits);
    solo_decoder_free(c);
    unload(&l);
}

static void tokens_of_transformers(void **unused)
{
    (void)unused;
    as_transformers(GOLDEN_FAMILIES "/qwen3-yarn", SOLO_LEVEL_OPS);
    as_transformers(GOLDEN_FAMILIES "/gpt2-usual", SOLO_LEVEL_OPS);
    as_transformers(GOLDEN_FAMILIES "/llama-yarn", SOLO_LEVEL_LOOP);
}

static void refuse(loaded *l, const char *words)
{
    solo_error e = {0};
    assert_null(decoder_of(l, SOLO_LEVEL_OPS, &e));
    if (e.status == 0 || !strstr(e.text, words) || strchr(e.text, '\n'))
        fail_msg("'%s' instead of '%s'", e.text, words);
}

static void refused(void **unused)
{
    (void)unused;
    solo_error e = {0};
    uint32_t made[CONTEXT];
    loaded l = load(GOLDEN_FAMILIES "/qwen3-yarn");
    solo_decoder *c = decoder_of(&l, SOLO_LEVEL_OPS, &e);
    assert_non_null(c);
    assert_int_equal(solo_decoder_generate(c, l.prompt, 0, NULL, NULL, 0, made, 4, &e), 0);
    assert_int_equal(e.status, 2);
    e = (solo_error){0};
    assert_int_equal(solo_decoder_generate(c, l.prompt, l.prompt_tok, NULL, NULL, 0, made, CONTEXT, &e), 0);
    assert_non_null(strstr(e.text, "do not fit a context"));
    e = (solo_error){0};
    assert_int_equal(solo_decoder_generate(c, &(uint32_t){1u << 30}, 1, NULL, NULL, 0, made, 1, &e), 0);
    assert_int_not_equal(e.status, 0);
    solo_decoder_free(c);

    solo_tensor kept = l.tensors[0];
    l.tensors[0].type = 8;
    refuse(&l, "of a type (8)");
    l.tensors[0] = kept;
    l.tensors[0].strides[0] += 1;
    refuse(&l, "not contiguous");
    l.tensors[0] = kept;
    l.tensors[0].bytes -= 1;
    refuse(&l, "fewer bytes than its shape needs");
    l.tensors[0] = kept;
    l.tensors[0].name = l.tensors[1].name;
    refuse(&l, l.tensors[1].name);
    l.tensors[0] = kept;
    l.count--;
    refuse(&l, "the model");
    l.count++;
    l.config[0] = 'x';
    refuse(&l, "the model");
    unload(&l);
}

int main(void)
{
    const struct CMUnitTest all[] = {cmocka_unit_test(tokens_of_transformers), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(all, open_dawn, shut);
}
