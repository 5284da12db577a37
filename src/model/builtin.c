/* builtin: the bytes of models/builtin.gguf in the binary. */
#include "model/builtin.h"
#include "base/os_embed.h"
#include "model/builtin_test.h"

OS_EMBED(builtin_model, "models/builtin.gguf");
extern const unsigned char builtin_model_begin[] __attribute__((visibility("hidden")));
extern const unsigned char builtin_model_end[] __attribute__((visibility("hidden")));

const void *builtin_bytes(size_t *count)
{
    *count = (size_t)(builtin_model_end - builtin_model_begin);
    return builtin_model_begin;
}

gguf *builtin_open(err *e)
{
    size_t count;
    const void *bytes = builtin_bytes(&count);
    return gguf_read(bytes, count, count, BUILTIN_NAME, NULL, e);
}
