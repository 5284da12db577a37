/* A tokenizer converted to a GGUF file makes the tokens of the folder it came from, or is refused: for a fuzz target. */
#include "model/convert.h"
#include "model/tokenizer_json_internal.h"
#include "temporary.h"

#include <unistd.h>

static char converted_path[TEMPORARY_BYTES];

static void forget_converted(void)
{
    unlink(converted_path);
}

static const char *path_of_converted(void)
{
    if (!*converted_path) {
        require(close(temporary_file(converted_path, "converted")) == 0, "no temporary file");
        atexit(forget_converted);
    }
    return converted_path;
}

static token_list ids_of(const tokenizer *t, const char *text, size_t bytes, bool special)
{
    token_list ids = {0};
    err e = {0};
    require(tokenizer_encode(t, text, bytes, special, special, &ids, &e), "a short text cannot be encoded");
    return ids;
}

static void check_same_tokens(const tokenizer *a, const tokenizer *b, const char *text, size_t bytes)
{
    for (int special = 0; special < 2; special++) {
        token_list x = ids_of(a, text, bytes, special), y = ids_of(b, text, bytes, special);
        require(x.count == y.count && (!x.count || memcmp(x.ids, y.ids, x.count * sizeof *x.ids) == 0),
                "a converted tokenizer has other tokens");
        str p = {0}, q = {0};
        for (size_t i = 0; i < x.count; i++) {
            tokenizer_piece(a, x.ids[i], special, &p);
            tokenizer_piece(b, x.ids[i], special, &q);
        }
        require(p.length == q.length && (!p.length || memcmp(p.data, q.data, p.length) == 0),
                "a converted tokenizer has other texts");
        str_free(&p);
        str_free(&q);
        token_list_free(&x);
        token_list_free(&y);
    }
}

/* Returns whether it was converted. */
static bool check_converted(const json_source *json, const tokenizer *t, const uint8_t *bytes, size_t length)
{
    static const char *const texts[] = {"ab",
                                        " hello  world\n\n12345 don't",
                                        "<s>a<|end|> \t b</s>",
                                        "\xFF\xC3",
                                        "e\xCC\x81 \xEA\xB0\x81 \xF0\x9F\x98\x80",
                                        "\xE2\x96\x81"
                                        "a  a\xE2\x96\x81"};
    err e = {0};
    str notes = {0};
    gguf_writer *w = gguf_writer_open(path_of_converted(), &e);
    require(w, "no temporary file");
    gguf_write_text(w, "general.architecture", "llama");
    bool ok = convert_tokenizer_read(w, json, t, "/no/such/folder", (uint32_t)tokenizer_size(t) + 3, &notes, &e);
    require(ok == (e.kind == ERR_NONE), "an error beside a result, or neither");
    ok = gguf_writer_close(w, ok, &e) && ok;
    gguf *g = ok ? gguf_open(path_of_converted(), &e) : NULL;
    tokenizer *again = g ? tokenizer_from_gguf(g, &e) : NULL;
    require(!ok || again, "a converted tokenizer is refused");
    for (size_t i = 0; ok && i < sizeof texts / sizeof *texts; i++)
        check_same_tokens(t, again, texts[i], strlen(texts[i]));
    if (ok)
        check_same_tokens(t, again, (const char *)bytes, length < 512 ? length : 512);
    tokenizer_free(again);
    gguf_close(g);
    str_free(&notes);
    return ok;
}
