/* model_text: the tokenizer and the chat template of a model, whichever files they are in. */
#include "model/model_text.h"
#include "base/file.h"
#include "model/builtin.h"
#include "model/tokenizer_json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TEMPLATE_MAX_BYTES = 1 << 20 };

/* ---- tokenizers ---------------------------------------------------------------- */

static tokenizer *tokenizer_of_file(const gguf *g, const char *path, err *e)
{
    tokenizer *t = tokenizer_from_gguf(g, e);
    if (!t && strncmp(e->text, path, strlen(path)) != 0) /* what the file's reader says names it already */
        err_context(e, "%s", path);
    return t;
}

tokenizer *tokenizer_of_model(const model *m, err *e)
{
    const gguf *g = model_get_gguf(m);
    return g ? tokenizer_of_file(g, model_get_path(m), e) : tokenizer_from_folder(model_get_path(m), e);
}

static bool is_folder(const char *path)
{
    struct stat info;
    return path && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static gguf *open_file(const char *path, err *e)
{
    return path ? gguf_open(path, e) : builtin_open(e);
}

tokenizer *tokenizer_of_path(const char *path, err *e)
{
    if (is_folder(path))
        return tokenizer_from_folder(path, e);
    gguf *g = open_file(path, e);
    tokenizer *t = g ? tokenizer_of_file(g, path ? path : BUILTIN_NAME, e) : NULL;
    if (g)
        gguf_close(g);
    return t;
}

/* ---- templates ------------------------------------------------------------------- */

static bool template_of_file(const gguf *g, str *out, err *e)
{
    gguf_text text;
    if (!gguf_has(g, "tokenizer.chat_template"))
        return true;
    if (!gguf_get_text(g, "tokenizer.chat_template", &text, e))
        return false;
    str_add_bytes(out, text.data, text.length);
    return true;
}

/* A file of its own comes before the one inside tokenizer_config.json. */
static bool template_of_folder(const char *folder, str *out, err *e)
{
    str path = {0};
    str_addf(&path, "%s/chat_template.jinja", folder);
    bool ok = true;
    if (file_exists(path.data)) {
        size_t length;
        char *text = file_read_plain(path.data, TEMPLATE_MAX_BYTES, &length, e);
        ok = text != NULL;
        if (text)
            str_add_bytes(out, text, length);
        free(text);
    } else
        ok = chat_template_in_folder(folder, out, e);
    str_free(&path);
    return ok;
}

bool chat_template_of_model(const model *m, str *out, err *e)
{
    const gguf *g = model_get_gguf(m);
    return g ? template_of_file(g, out, e) || err_context(e, "%s", model_get_path(m))
             : template_of_folder(model_get_path(m), out, e);
}

bool chat_template_of_path(const char *path, str *out, err *e)
{
    if (is_folder(path))
        return template_of_folder(path, out, e);
    gguf *g = open_file(path, e);
    bool ok = g && (template_of_file(g, out, e) || err_context(e, "%s", path ? path : BUILTIN_NAME));
    if (g)
        gguf_close(g);
    return ok;
}
