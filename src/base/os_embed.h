/* os_embed: a file's bytes in the binary, put in by the assembler as they are: as C they would be many times as much text.
 *
 *     OS_EMBED(picture, "docs/page.png");
 *     extern const unsigned char picture_begin[], picture_end[];      (hidden)
 *
 * The path is seen from where the compiler is run. Sections and names are written in each system's own way. */
#ifndef SOLO_BASE_OS_EMBED_H
#define SOLO_BASE_OS_EMBED_H

#ifdef __APPLE__
#define OS_EMBED_SECTION(name) "__TEXT,__const"
#define OS_EMBED_SYMBOL(name)  ".private_extern _" name "\n.globl _" name "\n_" name ":\n"
#elif defined _WIN32
#define OS_EMBED_SECTION(name) ".rdata, \"dr\""
#define OS_EMBED_SYMBOL(name)  ".globl " name "\n" name ":\n"
#else
#define OS_EMBED_SECTION(name) ".rodata." name ", \"a\", %progbits"
#define OS_EMBED_SYMBOL(name)  ".hidden " name "\n.globl " name "\n" name ":\n"
#endif

#define OS_EMBED(name, file) \
    __asm__(".pushsection " OS_EMBED_SECTION( \
        #name) "\n" \
               ".balign 64\n" OS_EMBED_SYMBOL(#name "_begin") ".incbin \"" file \
                                                              "\"\n" OS_EMBED_SYMBOL(#name "_end") ".byte 0\n" \
                                                                                                   ".popsection\n")

#endif
