/* unavailable: what a page does not have: mapped files, Hugging Face folders, embeddings, several texts at a time, and the
 * model in the binary, which it fetches like any other. model.c and tokenizer.c call these functions, which return an
 * error, and matmul_tiling.c those that find no kernel. */
#include "base/file.h"
#include "base/map.h"
#include "graph/lower_internal.h"
#include "model/builtin.h"
#include "model/config_gguf_internal.h"
#include "model/decoder_internal.h"
#include "model/folder.h"
#include "model/folder_experts.h"
#include "model/latent.h"
#include "model/nfc.h"
#include "model/quantised.h"
#include "model/sentence.h"
#include "model/tokenizer_json.h"
#include "model/tokenizer_own.h"
#include "model/unigram.h"
#include "model/wordpiece.h"

#include <stdlib.h>

static bool missing(const char *what, err *e)
{
    return err_set(e, "%s: a page reads models from GGUF files that it is given", what);
}

bool map_open(map *m, const char *path, err *e)
{
    (void)m;
    return missing(path, e);
}

bool lower_slots(const lowering *c, dispatch_desc *l, const plan_step *s, uint32_t row4s, uint32_t rows,
                 uint32_t chunks, const layout *lies)
{
    (void)c, (void)l, (void)s, (void)row4s, (void)rows, (void)chunks, (void)lies;
    return false;
}

uint64_t plan_share_words(const plan *p, const plan_step *s)
{
    (void)p, (void)s;
    return 0;
}

uint32_t lower_slots_combine(const lowering *c, dispatch_desc *l, const plan_step *s)
{
    (void)c, (void)l, (void)s;
    return 0;
}

bool lower_slots_matrix(const lowering *c, dispatch_desc *l, const plan_step *s, uint32_t row4s, uint32_t rows)
{
    (void)c, (void)l, (void)s, (void)row4s, (void)rows;
    return false;
}

void map_close(map *m)
{
    (void)m;
}

bool map_touch(const void *bytes, size_t length)
{
    (void)bytes, (void)length;
    return true;
}

char *file_read(const char *path, size_t limit_bytes, size_t *length, err *e)
{
    (void)limit_bytes, (void)length;
    missing(path, e);
    return NULL;
}

char *file_read_plain(const char *path, size_t limit_bytes, size_t *length, err *e)
{
    return file_read(path, limit_bytes, length, e);
}

bool file_exists(const char *path)
{
    (void)path;
    return false;
}

gguf *builtin_open(err *e)
{
    missing(BUILTIN_NAME, e);
    return NULL;
}

char *folder_read_config(const char *path, size_t *length, err *e)
{
    (void)length;
    missing(path, e);
    return NULL;
}

folder *folder_open(const char *path, const char *config, size_t length, model_config *c, err *e)
{
    (void)config, (void)length, (void)c;
    missing(path, e);
    return NULL;
}

folder *folder_of_tensors(const char *name, const char *config, const safetensor *tensors, size_t count,
                          model_config *c, err *e)
{
    (void)config, (void)tensors, (void)count, (void)c;
    missing(name, e);
    return NULL;
}

void folder_close(folder *f)
{
    (void)f;
}

bool folder_find(const folder *f, const char *name, model_weight *w)
{
    (void)f, (void)name, (void)w;
    return false;
}

bool folder_name_of(const folder *f, const model_config *c, const char *name, char out[MODEL_NAME_BYTES])
{
    (void)f, (void)c, (void)name, (void)out;
    return false;
}

const safetensors *folder_tensors(const folder *f)
{
    (void)f;
    return NULL;
}

bool sentence_read(const char *folder, model *m, uint32_t embedding_dim, model_embedding *o, err *e)
{
    (void)m, (void)embedding_dim, (void)o;
    return missing(folder, e);
}

bool quantised_unpack(model *m, const safetensors *folder, const char *config, size_t length, err *e)
{
    (void)folder, (void)config, (void)length;
    return missing(model_get_path(m), e);
}

bool quantised_leaves_out(const safetensors *folder, size_t tensor, uint32_t experts)
{
    (void)folder, (void)tensor, (void)experts;
    return false;
}

/* Older files of latent attention lack weights without it, which the decoder says. */
bool latent_split(model *m, err *e)
{
    (void)m, (void)e;
    return true;
}

size_t folder_tensor_count(const folder *f)
{
    (void)f;
    return 0;
}

const char *folder_tensor_name(const folder *f, size_t i)
{
    (void)f, (void)i;
    return "";
}

tokenizer *tokenizer_from_folder(const char *path, err *e)
{
    missing(path, e);
    return NULL;
}

bool chat_template_in_folder(const char *path, str *out, err *e)
{
    (void)out;
    return missing(path, e);
}

/* Only a folder's tokenizer.json needs it. */
bool own_read(const gguf *g, tokenizer_parts *parts, own_parts *own, err *e)
{
    (void)g, (void)parts, (void)own, (void)e;
    return true;
}

void own_free(own_parts *own)
{
    (void)own;
}

void nfc_add(const char *text, size_t bytes, const char *plain, str *out, str *plain_out)
{
    (void)text, (void)bytes, (void)plain, (void)out, (void)plain_out;
    abort();
}

/* DeepSeek's attention and its choice of experts: a page has no kernels for them. */
node decoder_latent(building *b, node x, uint32_t layer)
{
    (void)x, (void)layer;
    return err_set(b->e, "%s: latent attention does not run in a page", model_get_path(b->m)), 0;
}

node decoder_route(building *b, node scores, uint32_t layer)
{
    (void)scores, (void)layer;
    return err_set(b->e, "%s: experts that are chosen by groups or scales do not run in a page", model_get_path(b->m)),
           0;
}

/* Gemma 3n, and Gemma 4's mixture of experts: a page has no room for what only they have. */
bool gguf_streams(gguf_source *s)
{
    return err_set(s->e, "%s: a gemma3n does not run in a page", s->file);
}

node decoder_streams_open(building *b, node x)
{
    (void)b;
    return x;
}

node decoder_streams_layer(building *b, node x, uint32_t layer)
{
    (void)b, (void)layer;
    return x;
}

node decoder_streams_close(building *b, node x)
{
    (void)b;
    return x;
}

node decoder_tokens_of_table(building *b, node tokens)
{
    (void)b;
    return tokens;
}

node decoder_experts_beside(building *b, node x, node y, uint32_t layer)
{
    (void)x, (void)y, (void)layer;
    return err_set(b->e, "%s: experts beside a feed-forward layer do not run in a page", model_get_path(b->m)), 0;
}

/* Rows that do not lie one after the other are those of folders. */
void model_rows_put(const struct model_rows *m, uint64_t first, uint64_t count, void *to)
{
    (void)m, (void)first, (void)count, (void)to;
}

void model_rows_mark(const struct model_rows *m, bool *used)
{
    (void)m, (void)used;
}

expert_weights *expert_weights_of_gguf(model *m, err *e)
{
    missing(model_get_path(m), e);
    return NULL;
}

void expert_weights_free(expert_weights *x)
{
    (void)x;
}

/* Tokenizers of encoders, which a page does not run. */
static bool no_encoders(err *e)
{
    return err_set(e, "a page makes no embeddings, and has no tokenizer of an encoder");
}

bool wordpiece_init(wordpiece *w, const vocab *v, const tokenizer_parts *parts, err *e)
{
    (void)w, (void)v, (void)parts;
    return no_encoders(e);
}

void wordpiece_normalize(const wordpiece *w, const char *text, size_t bytes, const char *plain, str *out,
                         str *plain_out)
{
    (void)w, (void)text, (void)bytes, (void)plain, (void)out, (void)plain_out;
}

void wordpiece_encode(const wordpiece *w, const char *text, size_t bytes, token_list *out)
{
    (void)w, (void)text, (void)bytes, (void)out;
}

void wordpiece_decode(const wordpiece *w, token_text text, str *out)
{
    (void)w, (void)text, (void)out;
}

bool unigram_init(unigram *u, const vocab *v, const tokenizer_parts *parts, err *e)
{
    (void)u, (void)v, (void)parts;
    return no_encoders(e);
}

void unigram_free(unigram *u)
{
    (void)u;
}

void unigram_normalize(const unigram *u, const char *text, size_t bytes, const char *plain, str *out, str *plain_out)
{
    (void)u, (void)text, (void)bytes, (void)plain, (void)out, (void)plain_out;
}

void unigram_encode(const unigram *u, const char *text, size_t bytes, bool at_start, token_list *out)
{
    (void)u, (void)text, (void)bytes, (void)at_start, (void)out;
}
