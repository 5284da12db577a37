/* builtin: the bytes of models/builtin.gguf in the binary. */
#include "model/builtin.h"
#include "model/builtin_test.h"

/* The assembler puts the file in as it is: as C it would be 20 MB of digits. The
 * path is seen from the root of the repository, where the compiler is run. */
__asm__(".pushsection .rodata.builtin_model, \"a\", %progbits\n"
        ".balign 64\n"
        ".hidden builtin_model_begin\n"
        ".globl builtin_model_begin\n"
        "builtin_model_begin:\n"
        ".incbin \"models/builtin.gguf\"\n"
        ".hidden builtin_model_end\n"
        ".globl builtin_model_end\n"
        "builtin_model_end:\n"
        ".byte 0\n"
        ".popsection\n");

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
