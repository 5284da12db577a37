/* host: what the page does for C beside the GPU (web/engine.js), as imports of the wasm module. */
#ifndef SOLO_WEB_HOST_H
#define SOLO_WEB_HOST_H

#include <stdint.h>

#define PAGE(name) __attribute__((import_module("page"), import_name(#name))) extern

/* Some bytes of the model's file. 0: it failed, and page_why says why. Waits. */
PAGE(read_file) int32_t page_read_file(double offset, void *to, uint32_t bytes);
PAGE(why) void page_why(char *out, int32_t room);

/* A chat template, run by a module of its own (web/template.js, chat_module.c). Fetches that module: waits. 0: it failed,
 * and page_why says why. */
PAGE(template_open) int32_t page_template_open(const char *text, uint32_t bytes);
PAGE(template_close) void page_template_close(int32_t template);
/* `packed` is BOS and EOS and then each message, all with a zero behind them; a message has its role's digit before it.
 * Returns how many bytes the text has; negative: it failed. */
PAGE(template_render)
int32_t page_template_render(int32_t template, const char *packed, uint32_t bytes, int32_t ask, int32_t think);
/* The text just rendered, and a byte for each of its bytes, 1 where it is plain. */
PAGE(template_take) void page_template_take(char *text, char *plain);

/* A piece of an answer, as soon as it is made. */
PAGE(answer) void page_answer(const char *text, uint32_t bytes);
/* The progress of long work. */
PAGE(progress) void page_progress(const char *what, double done, double total);

/* Data kept between visits. The first returns its length, negative if there is none; more than fits is cut off. */
PAGE(recall) int32_t page_recall(const char *key, char *out, int32_t room);
PAGE(remember) void page_remember(const char *key, const char *value);

#endif
