/* What holds for a tokenizer of any data, however odd: for the fuzz targets. */
#include "fuzz/require.h"
#include "model/tokenizer_test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_encoding(const tokenizer *t, const char *text, size_t bytes, bool special)
{
    token_list ids = {0};
    err e = {0};
    str back = {0};
    decode_stream stream = {.strip_space = true, .special = special};
    require(tokenizer_encode(t, text, bytes, special, special, &ids, &e), "a short text cannot be encoded");
    for (size_t i = 0; i < ids.count; i++) {
        require(ids.ids[i] >= 0 && (size_t)ids.ids[i] < tokenizer_size(t), "an id is out of range");
        decode_stream_add(&stream, t, ids.ids[i], &back);
    }
    decode_stream_end(&stream, &back);
    str_free(&back);
    token_list_free(&ids);
    /* half of it plain */
    text_span half = {bytes / 2, bytes - bytes / 2};
    require(tokenizer_encode_partly(t, text, bytes, &half, 1, false, &ids, &e), "a marked text cannot be encoded");
    for (size_t i = 0; i < ids.count; i++)
        require(ids.ids[i] >= 0 && (size_t)ids.ids[i] < tokenizer_size(t), "an id is out of range");
    token_list_free(&ids);
}

static void check_tokenizer(const tokenizer *t, const uint8_t *bytes, size_t length)
{
    static const char *const texts[] = {"",
                                        "ab",
                                        " hello  world\n\n12345 don't",
                                        "<s>a<|end|> \t b</s>",
                                        "\xFF\xC3",
                                        "e\xCC\x81 \xEA\xB0\x81 \xF0\x9F\x98\x80"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int special = 0; special < 2; special++)
            check_encoding(t, texts[i], strlen(texts[i]), special);
    check_encoding(t, (const char *)bytes, length < 512 ? length : 512, true);
    str piece = {0};
    for (int32_t id = -1; id <= (int32_t)tokenizer_size(t); id++) {
        tokenizer_piece(t, id, true, &piece);
        require(!tokenizer_ends(t, id) || (id >= 0 && (size_t)id < tokenizer_size(t)), "no token ends a text");
    }
    int32_t named[] = {tokenizer_bos(t), tokenizer_eos(t), tokenizer_eot(t), tokenizer_unknown(t),
                       tokenizer_padding(t)};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        require(named[i] >= -1 && named[i] < (int32_t)tokenizer_size(t), "a named token is out of range");
    str_free(&piece);
}
