/* solo: language models, graphs of operators and step-by-step simulations on a GPU, in as few dispatches as possible,
 * from C or C++.
 *
 *     solo_error e = {0};
 *     solo_device *d = solo_device_open(NULL, &e);
 *     solo_model *m = solo_model_open(NULL, &e);
 *     solo_session *s = solo_session_open(d, m, NULL, &e);
 *     if (!solo_session_chat(s, "Hello", 100, print, NULL, NULL, &e)) puts(e.text);
 *
 * ERRORS. Functions that can fail take a solo_error, return NULL or false, and say why in one line. The first error is
 * kept: a caller that checks only the last of several calls gets the first error. Every function accepts NULL for an
 * object whose making failed: it fails in turn and leaves the error as it is, gives 0 or does nothing. `e` may be NULL.
 * What fails on the device (a kernel, memory, a lost device) fails every later call on it as well. When the host's memory
 * runs out, the program ends with one line on stderr; nothing else is ever printed.
 *
 * OWNERSHIP. What a function named ..._open or ..._new returns is the caller's, who closes or frees it, and before that
 * all that was made from it: sessions before their model, everything before the device. Freeing NULL does nothing. Texts
 * and arrays that are passed in are copied unless the function's comment says that they must stay; a returned pointer
 * belongs to the object it came from, and is valid as long as that is.
 *
 * THREADS. A device with all that was made on it belongs to one thread at a time; several threads may have a device each.
 * Devices are opened by one thread at a time: the libraries that are loaded then are kept from writing to stderr. A model
 * belongs to one thread at a time, too, but for its tokens, which any thread may ask for. Callbacks are called by the
 * thread that called, during the call, and must use nothing of the same device.
 *
 * ZERO. In every options struct all zeros mean the best there is: {0} is a good beginning, and NULL stands for it. New
 * fields may be added; programs that name the fields they set stay right when they are compiled again.
 *
 * LINKING. `pkg-config --cflags --libs solo` after `make install`; docs/api.md has more.                        */
#ifndef SOLO_H
#define SOLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__ && !defined __wasm__
#pragma GCC visibility push(default)
#endif

/* Zero it before it is first used; the first error is kept. */
typedef struct solo_error {
    int status; /* 0: none; 1: it failed; 2: invalid arguments; 3: no usable GPU */
    char text[1024];
} solo_error;

typedef struct solo_device solo_device;
typedef struct solo_buffer solo_buffer;
typedef struct solo_model solo_model;
typedef struct solo_session solo_session;
typedef struct solo_embedder solo_embedder;
typedef struct solo_decoder solo_decoder;
typedef struct solo_graph solo_graph;
typedef struct solo_run solo_run;
typedef struct solo_sim solo_sim;

const char *solo_library_version(void);

/* ---- devices ----------------------------------------------------------------------------------- */

typedef struct solo_device_options {
    const char *impl; /* "dawn", "wgpu" or the path of a library that implements webgpu.h; NULL: the first that works */
    bool gpu_only;    /* a software device is an error */
    /* Only models and graphs will run, no simulations: kernels need no bounds checks, which makes them faster on GPUs. */
    bool own_kernels;
} solo_device_options;

solo_device *solo_device_open(const char *impl, solo_error *e); /* the same, with `impl` alone */
solo_device *solo_device_open_with(const solo_device_options *o, solo_error *e);
void solo_device_close(solo_device *d); /* after everything made on it was freed */
const char *solo_device_name(const solo_device *d);

/* Memory on a device, zeros at first. Sizes and offsets are in bytes, multiples of 4. */
solo_buffer *solo_buffer_new(solo_device *d, uint64_t bytes, solo_error *e);
void solo_buffer_free(solo_buffer *b);
uint64_t solo_buffer_bytes(const solo_buffer *b);
bool solo_buffer_write(solo_buffer *b, uint64_t offset, const void *data, size_t bytes, solo_error *e);
bool solo_buffer_read(solo_buffer *b, uint64_t offset, void *data, size_t bytes, solo_error *e);

/* How many dispatches work takes: one per operator (none), per group of operators (ops), per token or run (token), for
 * many tokens or runs (loop). All give the same results. */
typedef enum solo_level {
    SOLO_LEVEL_AUTO, /* the best that is safe on the device */
    SOLO_LEVEL_NONE,
    SOLO_LEVEL_OPS,
    SOLO_LEVEL_TOKEN,
    SOLO_LEVEL_LOOP
} solo_level;

/* How several dispatches go to the queue. */
typedef enum solo_submit {
    SOLO_SUBMIT_AUTO, /* batch */
    SOLO_SUBMIT_SYNC, /* each is submitted and waited for */
    SOLO_SUBMIT_EACH, /* each is submitted */
    SOLO_SUBMIT_PASS, /* one submit, a pass for each */
    SOLO_SUBMIT_BATCH /* one submit, one pass */
} solo_submit;

/* ---- models and their tokens ------------------------------------------------------------------------ */

/* A GGUF file or a Hugging Face folder; NULL: the built-in model. Weights are read when a session needs them. */
solo_model *solo_model_open(const char *path, solo_error *e);
void solo_model_close(solo_model *m);
/* Merges a LoRA adapter (GGUF file, PEFT folder) before any session is opened. After an error the model is of no use. */
bool solo_model_add_lora(solo_model *m, const char *path, float scale, solo_error *e);
const char *solo_model_architecture(const solo_model *m);
uint32_t solo_model_vocabulary(const solo_model *m); /* tokens */
uint32_t solo_model_context(const solo_model *m);    /* tokens that it was trained for */

enum {
    SOLO_TOKENS_PLAIN = 1,   /* special tokens written in the text (<|im_end|> and the like) are text */
    SOLO_TOKENS_GO_ON = 2,   /* the text goes on from another: without the token that begins one */
    SOLO_TOKENS_SPECIAL = 4, /* solo_model_detokenize: special tokens are written out */
};
/* The tokens of a text, as many as there is room for. Returns how many there are; 0 also if it failed. */
size_t solo_model_tokenize(const solo_model *m, const char *text, int flags, uint32_t *tokens, size_t room,
                           solo_error *e);
/* The text of tokens, cut to `room` bytes with the zero behind it. Returns how many bytes there are without that. */
size_t solo_model_detokenize(const solo_model *m, const uint32_t *tokens, size_t count, int flags, char *text,
                             size_t room);
/* Does the model end a text, or its turn, with this token? */
bool solo_model_ends(const solo_model *m, uint32_t token);

/* ---- sessions: texts, conversations, logits ----------------------------------------------------------- */

/* How a token is chosen. All zeros: always the most likely one. What is out of range or no number is an error. */
typedef struct solo_sampling {
    float temperature; /* 0: always the most likely token, whatever the other settings */
    uint32_t top_k;    /* from the k most likely; 0: from all */
    float top_p,
        min_p; /* from the most likely that have this probability together; each that share of the best; 0: all */
    float repeat_penalty; /* for tokens among the last ones; 0 or 1: none */
    uint32_t repeat_last; /* how many those are; 0: 64 */
    uint32_t seed;        /* the same seed, settings and text give the same tokens */
} solo_sampling;

/* Whether a model thinks before it answers, where its chat template asks. */
typedef enum solo_think { SOLO_THINK_AUTO, SOLO_THINK_ON, SOLO_THINK_OFF } solo_think;

typedef struct solo_session_options {
    solo_level level;
    solo_submit submit;
    uint32_t context;       /* tokens of the context; 0: as many as the model was trained for, or as fit */
    bool slide;             /* solo_session_generate: a full context drops its older half instead of ending the text */
    bool exact_cache;       /* keys and values in 32 bits instead of 16 */
    const char *cache_type; /* or in "f16" (NULL), "q8_0", "q4_0": docs/files.md says what these cost */
    uint32_t chunk_ms;      /* about how long a dispatch of many tokens may take; 0: 50 */
    /* At SOLO_LEVEL_AUTO the first text begins with `ops` while the best level compiles, and changes to it between two
     * tokens: same tokens, but solo_session_level changes, and a notice may come later. `wait`: the first text waits
     * for the compiler instead, as it does for a level that is named. */
    bool wait;
    /* "chatml", or a chat template itself (Jinja); "none": texts are continued; NULL: the model's own. */
    const char *chat_template;
    const char *system; /* the system message of a conversation; NULL: none */
    solo_think think;
    uint32_t think_budget; /* after so many tokens of thoughts they are ended, and the answer begins; 0: none */
    solo_sampling sampling;
    const char *const *stops; /* texts that end an answer, and NULL behind the last; NULL: none */
} solo_session_options;

/* Weights are uploaded at their first use. The device and the model must outlive the session. */
solo_session *solo_session_open(solo_device *d, solo_model *m, const solo_session_options *o, solo_error *e);
void solo_session_close(solo_session *s);
/* Called with each new piece of text, complete characters, zero-terminated. Returns whether to go on. */
typedef bool (*solo_on_text)(void *user, const char *text, size_t bytes);

typedef enum solo_end {
    SOLO_END_MODEL,   /* the model ended it */
    SOLO_END_STOP,    /* a stop text was found, which is not passed on */
    SOLO_END_LENGTH,  /* it reached the limit of tokens */
    SOLO_END_CONTEXT, /* the context is full */
    SOLO_END_CALLER   /* solo_on_text returned false */
} solo_end;

typedef struct solo_answer {
    solo_end end;
    uint32_t prompt_tok, reused_tok,
        answer_tok;                  /* of the prompt; of those the ones that were still in the KV cache; made */
    uint32_t forgotten_messages;     /* that were dropped because the context was full */
    double first_token_s, tok_per_s; /* until the first token; from then on */
} solo_answer;
/* Continues a text. `most_tok` 0: until the model ends it or the context is full; `on_text` and `out` may be NULL. */
bool solo_session_generate(solo_session *s, const char *text, uint32_t most_tok, solo_on_text on_text, void *user,
                           solo_answer *out, solo_error *e);
/* Answers a message of a conversation; one that fails is not part of it. Without a chat template it continues the text. */
bool solo_session_chat(solo_session *s, const char *message, uint32_t most_tok, solo_on_text on_text, void *user,
                       solo_answer *out, solo_error *e);
/* Another answer to the last message: with the same seed the same one. */
bool solo_session_chat_again(solo_session *s, uint32_t most_tok, solo_on_text on_text, void *user, solo_answer *out,
                             solo_error *e);
bool solo_session_reset(solo_session *s, const char *system, solo_error *e); /* begins anew; NULL: no system message */
bool solo_session_set_sampling(solo_session *s, const solo_sampling *how, solo_error *e); /* NULL: the most likely */
solo_sampling solo_session_sampling(const solo_session *s); /* as it is now, also after solo_session_load */
bool solo_session_set_stops(solo_session *s, const char *const *stops, solo_error *e); /* as in the options */

/* For callers who keep the messages themselves, and for tools: the conversation is these messages, the system's first,
 * if there is one. What the cache begins with already is not read again. All texts are copied. */
typedef enum solo_role { SOLO_ROLE_SYSTEM, SOLO_ROLE_USER, SOLO_ROLE_ASSISTANT, SOLO_ROLE_TOOL } solo_role;
typedef struct solo_message {
    solo_role role;
    const char *content;
    /* NULL, or of an answer: the tools that it calls, JSON as in OpenAI's API: [{"type": "function", "id": "...",
     * "function": {"name": "...", "arguments": ...}}]. */
    const char *tool_calls;
    const char *tool_call_id, *name; /* NULL, or of a tool's result: of which call, and of which tool */
} solo_message;
bool solo_session_set_messages(solo_session *s, const solo_message *messages, size_t count, solo_error *e);
bool solo_session_add_message(solo_session *s, const solo_message *m, solo_error *e);
/* Answers the messages that are there; the answer becomes one of them. */
bool solo_session_answer(solo_session *s, uint32_t most_tok, solo_on_text on_text, void *user, solo_answer *out,
                         solo_error *e);
size_t solo_session_message_count(const solo_session *s);
/* Valid until the conversation changes; zeros where there is none. */
solo_message solo_session_message(const solo_session *s, size_t i);
/* The tools that the model may call, a list of JSON as in OpenAI's API, given to the chat template; NULL: none. */
bool solo_session_set_tools(solo_session *s, const char *json, solo_error *e);
/* Looks for calls in the last answer. If there are any in a form that is known (docs/chat.md), they become its
 * tool_calls, and its content is what stands before them. */
bool solo_session_take_calls(solo_session *s);
/* Saves the conversation with its keys and values, and the sampling settings (never in the place of another kind of
 * file); loading goes on as if nothing had been between. Files of other models or cache types, or damaged, are refused. */
bool solo_session_save(solo_session *s, const char *path, solo_error *e);
bool solo_session_load(solo_session *s, const char *path, solo_error *e);
/* The logits after each of the first tokens of a text, (count, vocabulary). This uploads the weights a second time, and
 * keeps them for the next call with as many tokens. Memory limits the number of tokens. */
bool solo_session_logits(solo_session *s, const uint32_t *tokens, uint32_t count, float *logits, solo_error *e);

uint32_t solo_session_context(const solo_session *s); /* tokens; 0: nothing was answered yet */
/* "own": the model's chat template, or the one that was given; "chatml"; NULL: there is none. */
const char *solo_session_template(const solo_session *s);
/* The level that makes tokens, and its dispatches; AUTO and 0 before the first token. */
solo_level solo_session_level(const solo_session *s);
uint32_t solo_session_dispatches(const solo_session *s); /* for a token */
/* A notice, returned once: a level that is not possible here. */
bool solo_session_take_notice(solo_session *s, char *text, size_t room);

/* ---- embeddings -------------------------------------------------------------------------------------------- */

/* How the vectors of a text's tokens become one. */
typedef enum solo_pooling {
    SOLO_POOLING_MODEL, /* as the model's files say; an error if they do not */
    SOLO_POOLING_MEAN,
    SOLO_POOLING_CLS, /* the first token's */
    SOLO_POOLING_LAST /* the last token's */
} solo_pooling;

typedef enum solo_normalize {
    SOLO_NORMALIZE_MODEL, /* as the model's files say, and on where they do not */
    SOLO_NORMALIZE_ON,    /* vectors have length 1: their product is the cosine of their angle */
    SOLO_NORMALIZE_OFF
} solo_normalize;

typedef struct solo_embedder_options {
    solo_level level; /* AUTO: ops; loop is token */
    solo_submit submit;
    solo_pooling pooling;
    solo_normalize normalize;
    uint32_t context; /* tokens of a text at most; 0: as many as the model was trained for, up to 2048 */
} solo_embedder_options;

/* Vectors for texts, by an encoder (bert, nomic-bert, embeddinggemma) or a decoder that is pooled. Weights are uploaded
 * here. The device and the model must outlive it. */
solo_embedder *solo_embedder_open(solo_device *d, solo_model *m, const solo_embedder_options *o, solo_error *e);
void solo_embedder_close(solo_embedder *n);
uint32_t solo_embedder_width(const solo_embedder *n); /* numbers of a vector */
/* The vector of a text, (width). A text with more tokens than the context is an error. */
bool solo_embedder_embed(solo_embedder *n, const char *text, float *vector, solo_error *e);

/* ---- graphs ---------------------------------------------------------------------------------------------- */

/* Tensors and the operators between them, built once and run often. Shapes are known when the graph is built, outermost
 * dimension first: {{4, 64}} has 4 rows. The graph keeps the first mistake made while building, and solo_run_new
 * reports it; an operator with an invalid operand (0) returns 0. */
typedef uint32_t solo_node;
typedef struct solo_shape {
    uint32_t dims[4]; /* zeros behind the last */
} solo_shape;

typedef enum solo_type { SOLO_F32, SOLO_U32, SOLO_F16 /* states alone */ } solo_type;

/* The types of weights; the numbers are GGUF's. */
typedef enum solo_weight_type {
    SOLO_WEIGHT_F32 = 0,
    SOLO_WEIGHT_F16 = 1,
    SOLO_WEIGHT_Q4_0 = 2,
    SOLO_WEIGHT_Q4_1 = 3,
    SOLO_WEIGHT_Q5_0 = 6,
    SOLO_WEIGHT_Q5_1 = 7,
    SOLO_WEIGHT_Q8_0 = 8,
    SOLO_WEIGHT_Q2_K = 10,
    SOLO_WEIGHT_Q3_K = 11,
    SOLO_WEIGHT_Q4_K = 12,
    SOLO_WEIGHT_Q5_K = 13,
    SOLO_WEIGHT_Q6_K = 14,
    SOLO_WEIGHT_IQ2_XXS = 16,
    SOLO_WEIGHT_IQ2_XS = 17,
    SOLO_WEIGHT_IQ3_XXS = 18,
    SOLO_WEIGHT_IQ1_S = 19,
    SOLO_WEIGHT_IQ4_NL = 20,
    SOLO_WEIGHT_IQ3_S = 21,
    SOLO_WEIGHT_IQ2_S = 22,
    SOLO_WEIGHT_IQ4_XS = 23,
    SOLO_WEIGHT_IQ1_M = 29,
    SOLO_WEIGHT_BF16 = 30,
    SOLO_WEIGHT_TQ1_0 = 34,
    SOLO_WEIGHT_TQ2_0 = 35,
    SOLO_WEIGHT_MXFP4 = 39
} solo_weight_type;

typedef enum solo_unary {
    SOLO_COPY,
    SOLO_NEG,
    SOLO_ABS,
    SOLO_SQUARE,
    SOLO_SQRT,
    SOLO_EXP,
    SOLO_LOG,
    SOLO_TANH,
    SOLO_SIGMOID,
    SOLO_RELU,
    SOLO_SILU,
    SOLO_GELU,
    SOLO_SIN,
    SOLO_COS,
    SOLO_GELU_ERF /* SOLO_GELU is its approximation with tanh */
} solo_unary;
typedef enum solo_binary { SOLO_ADD, SOLO_SUB, SOLO_MUL, SOLO_DIV, SOLO_MAX, SOLO_MIN } solo_binary;
typedef enum solo_reduce { SOLO_SUM, SOLO_MEAN, SOLO_MAXIMUM, SOLO_ARGMAX } solo_reduce;

solo_graph *solo_graph_new(void);
void solo_graph_free(solo_graph *g);

solo_node solo_graph_input(solo_graph *g, const char *name, solo_type type, solo_shape s);
/* `data` must stay valid until the last solo_run_new of this graph. */
solo_node solo_graph_weight(solo_graph *g, const char *name, solo_weight_type type, solo_shape s, const void *data);
solo_node solo_graph_state(solo_graph *g, const char *name, solo_type type, solo_shape s); /* lives on between runs */
void solo_graph_output(solo_graph *g, const char *name, solo_node n);

solo_node solo_graph_unary(solo_graph *g, solo_unary kind, solo_node x);
solo_node solo_graph_scale(solo_graph *g, solo_node x, float factor, float added);
solo_node solo_graph_binary(solo_graph *g, solo_binary kind, solo_node a, solo_node b); /* dims equal, or 1 in b */
solo_node solo_graph_reduce(solo_graph *g, solo_reduce kind, solo_node x);              /* the last dimension */
solo_node solo_graph_softmax(solo_graph *g, solo_node x, float scale);                  /* of x * scale */
solo_node solo_graph_rmsnorm(solo_graph *g, solo_node x, solo_node weight, float epsilon);
solo_node solo_graph_layernorm(solo_graph *g, solo_node x, solo_node weight, solo_node bias,
                               float epsilon);                                /* bias: or 0 */
solo_node solo_graph_matmul(solo_graph *g, solo_node x, solo_node weight);    /* [.., k] and [n, k] to [.., n] */
solo_node solo_graph_gather(solo_graph *g, solo_node weight, solo_node rows); /* [n, k] and u32 [t] to [t, k] */
solo_node solo_graph_pick(solo_graph *g, solo_node x, solo_node rows);        /* the same of a computed x */
solo_node solo_graph_slice(solo_graph *g, solo_node x, uint32_t start, uint32_t count); /* of the last dimension */
solo_node solo_graph_reshape(solo_graph *g, solo_node x, solo_shape s);
solo_node solo_graph_topk(solo_graph *g, solo_node x, uint32_t count); /* places of the largest of a row, u32 */
/* Rows of x [t, heads, size] into state [capacity, heads, size] from row `position` (u32 [1]) on. Its value is the state. */
solo_node solo_graph_store(solo_graph *g, solo_node state, solo_node x, solo_node position);
/* x [t, heads, size] rotated by position (u32 [1], of row 0): the first `rotated` elements of each head, as pairs
 * (i, i + rotated / 2), or (2 i, 2 i + 1) if interleaved. */
solo_node solo_graph_rope(solo_graph *g, solo_node x, solo_node position, uint32_t rotated, bool interleaved,
                          float base);
/* q [t, heads, size] over states of keys and values [capacity, kv heads, size]; row i sees what is stored up to
 * position + i. To [t, heads * size]. */
solo_node solo_graph_attention(solo_graph *g, solo_node q, solo_node keys, solo_node values, solo_node position,
                               float scale);
/* Integers for the next run: target[i] = value[i] + added, after all that reads the input `target` in this run. */
solo_node solo_graph_assign(solo_graph *g, solo_node target, solo_node value, uint32_t added);

/* A program of PyTorch as a graph (docs/torch.md): a file of torch.export.save, or the "graph_module" of its JSON with the
 * tensors that it names. Buffers that it changes are states, which begin with their values. NULL with an error. */
solo_graph *solo_graph_open(const char *path, solo_error *e);
typedef struct solo_tensor {
    const char *name;
    const void *data; /* its storage, which must stay valid as long as the graph */
    uint64_t bytes;   /* of a port: what solo_run_write and solo_run_read take; of a state floats, an even number */
    int32_t type;     /* torch's number of the element type: 7 is float32 */
    uint32_t rank, dims[6];
    uint64_t strides[6], offset; /* elements */
} solo_tensor;
solo_graph *solo_graph_from_torch(const char *json, const solo_tensor *tensors, uint32_t count, solo_error *e);
/* What goes in and comes out: floats, or 32-bit integers (booleans, too); a state lies as its strides say. False: no i. */
typedef enum solo_port { SOLO_PORT_INPUT, SOLO_PORT_OUTPUT, SOLO_PORT_STATE } solo_port;
bool solo_graph_port(const solo_graph *g, solo_port kind, uint32_t i, solo_tensor *out);

/* A language model of weights in memory, by tokens: it needs no files and no tokenizer. `config` is the text of a
 * config.json; tensors go by the names that a Hugging Face folder has, contiguous, in 16 or 32 bits, and are needed during
 * this call only. Of the options, those about launching, the context and the cache count. */
solo_decoder *solo_decoder_new(solo_device *d, const char *config, const solo_tensor *tensors, uint32_t count,
                               const solo_session_options *o, solo_error *e);
void solo_decoder_free(solo_decoder *c);
/* Continues `count` tokens by up to `room`, made and chosen on the device; after one of up to 15 stops, which is the last
 * one then, there are no further ones. Returns how many there are; 0 if it failed. NULL: the most likely tokens. */
uint32_t solo_decoder_generate(solo_decoder *c, const uint32_t *tokens, uint32_t count, const solo_sampling *how,
                               const uint32_t *stops, uint32_t stop_count, uint32_t *out, uint32_t room, solo_error *e);
uint32_t solo_decoder_vocabulary(const solo_decoder *c); /* and the logits after some tokens, as many: */
bool solo_decoder_logits(solo_decoder *c, const uint32_t *tokens, uint32_t count, float *logits, solo_error *e);
solo_level solo_decoder_level(const solo_decoder *c);    /* that makes tokens, and its dispatches: */
uint32_t solo_decoder_dispatches(const solo_decoder *c); /* for a token */

typedef struct solo_run_options {
    solo_level level; /* `token` and `loop` are an error where one dispatch is not possible; AUTO falls back to ops */
    solo_submit submit;
} solo_run_options;
/* A graph on a device. Inputs and states are zeros at first. The graph must outlive the run, and must not change. */
solo_run *solo_run_new(solo_device *d, const solo_graph *g, const solo_run_options *o, solo_error *e);
void solo_run_free(solo_run *r);
/* Makes this many runs, one after the other; states and assigned inputs carry over from each to the next. At the level
 * `loop`, up to 64 of them are one dispatch. It may return before they are done; reading waits for them. */
bool solo_run_go(solo_run *r, uint32_t times, solo_error *e);
/* All elements of an input, an output or a state, by name: `bytes` is their size, 4 for each, 2 for SOLO_F16. Writing, not
 * of outputs, affects the runs that follow, reading returns the values after those so far; reading many waits once. */
bool solo_run_write(solo_run *r, const char *name, const void *data, size_t bytes, solo_error *e);
bool solo_run_read(solo_run *r, const char *name, void *data, size_t bytes, solo_error *e);
bool solo_run_read_many(solo_run *r, const char *const *names, void *const *data, const size_t *bytes, uint32_t count,
                        solo_error *e);
/* The caller's memory of the same size on the same device stands for a name: each solo_run_go copies inputs and states from
 * it before the runs, outputs and states to it after them. It must stay until the run is freed or the name bound to NULL. */
bool solo_run_bind(solo_run *r, const char *name, solo_buffer *b, solo_error *e);
solo_level solo_run_level(const solo_run *r);
uint32_t solo_run_dispatches(const solo_run *r); /* for a run */

/* ---- simulations ------------------------------------------------------------------------------- */

typedef struct solo_sim_options {
    uint32_t population, steps; /* 0: the file's value; an error if it has none */
    uint32_t seed;
    const char *const *parameters; /* "NAME=VALUE", and NULL behind the last; NULL: none */
    const float *data;             /* (data_rows, data_columns), for data(row, column); copied */
    uint32_t data_rows, data_columns;
    uint32_t trace_count,
        trace_every; /* number of individuals with a trace, and the steps from one entry to the next (0: 1) */
    /* How long a dispatch may take, about: longer runs are split into several, with the same results, since drivers end
     * dispatches that take seconds. 0: 500; UINT32_MAX: all in one dispatch however long it takes. A dispatch that does
     * not end within a minute is an error, and the device is unusable from then on. */
    uint32_t chunk_ms;
    bool evolves; /* solo_sim_evolve will be called */
} solo_sim_options;

/* `wgsl` is the text, `name` what errors call it; without a text it is the built-in simulation of that name. */
solo_sim *solo_sim_new(solo_device *d, const char *name, const char *wgsl, const solo_sim_options *o, solo_error *e);
void solo_sim_free(solo_sim *s);

typedef enum solo_launch {
    SOLO_ONE_DISPATCH,    /* all steps, or as many as chunk_ms allows */
    SOLO_DISPATCH_A_STEP, /* in one pass; the same bits */
} solo_launch;
void solo_sim_set_progress(solo_sim *s, void (*at)(void *user, uint32_t step), void *user); /* after each dispatch */
void solo_sim_stop(solo_sim *s); /* for that callback: the run ends there, and fails */
/* Runs all steps, from the first. */
bool solo_sim_run(solo_sim *s, solo_launch how, solo_error *e);
/* Step by step, for a caller who sets genes (actions, say) in between: the initial states, drawn by this seed, then the
 * next `count` steps in one dispatch however long it takes, from where it stands. States and scores are those after it.
 * Steps go on beyond those of the options; without traces and evolution. solo_sim_run ends it. */
bool solo_sim_begin(solo_sim *s, uint32_t seed, solo_error *e);
bool solo_sim_advance(solo_sim *s, uint32_t count, solo_error *e);
/* A notice after a run, returned once: coupled steps had to use separate dispatches. */
bool solo_sim_take_notice(solo_sim *s, char *text, size_t room);
uint32_t solo_sim_population(const solo_sim *s);
uint32_t solo_sim_steps(const solo_sim *s);
uint32_t solo_sim_genes(const solo_sim *s);
/* The words of a State: "x", "position.y", "cash[3]". */
uint32_t solo_sim_words(const solo_sim *s);
const char *solo_sim_word_name(const solo_sim *s, uint32_t word);
/* Of the last run, or the current generation; an error before the first run, and after one that failed. */
bool solo_sim_scores(solo_sim *s, float *scores, solo_error *e);  /* (population); an error if one is not finite */
bool solo_sim_states(solo_sim *s, double *states, solo_error *e); /* (words, population), whatever their type */
bool solo_sim_trace(solo_sim *s, double *states, solo_error *e);  /* (rows, words, trace_count) */
uint32_t solo_sim_trace_rows(const solo_sim *s);
/* (population, genes): replaces the genes drawn by the seed. Not while it evolves. */
void solo_sim_set_genomes(solo_sim *s, const float *genomes);

/* Zero: the default. */
typedef struct solo_evolution {
    uint32_t tournament, elite;
    float crossover, mutation, sigma;
} solo_evolution;
/* Called after each dispatch or generation; returns whether to go on. */
typedef bool (*solo_progress)(void *user, uint32_t generation, double best);
/* Runs up to this generation, the first being 0; a later call with a higher one goes on. `o` is used only once. */
bool solo_sim_evolve(solo_sim *s, uint32_t generation, const solo_evolution *o, solo_progress progress, void *user,
                     solo_error *e);
/* The best score of each generation so far, beginning with the first; NULL: nothing has evolved yet. */
const double *solo_sim_best(const solo_sim *s, uint32_t *count);
/* (population, genes) and (population) of the current generation. */
bool solo_sim_evolved(solo_sim *s, float *genomes, float *scores, solo_error *e);
/* Replaces them, as islands do that exchange their best: the next generation's parents are chosen from these. */
bool solo_sim_set_evolved(solo_sim *s, const float *genomes, const float *scores, solo_error *e);
/* Saves (never in the place of another kind of file) and loads an evolution of the same simulation and options. */
bool solo_sim_save(solo_sim *s, const char *path, solo_error *e);
bool solo_sim_resume(solo_sim *s, const char *path, const solo_evolution *o, solo_error *e);

#if defined __GNUC__ && !defined __wasm__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif
