/* config: what a decoder is made of, for every architecture and every format of file.
 *
 * Filled from a GGUF file's metadata or from a Hugging Face config.json, and
 * checked: whoever has a model_config may allocate and divide by what it says.
 * It is a plain value: copy it, throw it away.
 *
 * The decoder, for a token at position p; [..] only where the field says so:
 *
 *     x = embedding[token] * embedding_scale [+ positions[p]: learned_positions]
 *     z = (rms_norm(x * Wproject / sqrt(embedding_dim)) + table[token] * sqrt(per_layer_dim)) / sqrt(2)
 *                                                                a part for every layer  [per_layer_dim]
 *     for every layer:
 *         y = norm(x)                                            [not without pre_norms]
 *         q, k, v = y * Wq [+ bq], y * Wk [+ bk], y * Wv [+ bv]  [qkv_bias]
 *                                                                (Wq also makes a gate: attention_gated)
 *         q, k = [norm of them: qk_norm], then rotated by p (see rope; is_unrotated)
 *         v = [rms_norm without weights of: value_norm] v        v = y * Wk in some layers [value_is_key]
 *             or k and v of an earlier layer                     [kv_shared_layers]
 *         a = softmax(cap(q . k * attention_scale)) v            over all positions, or window_tok
 *         a = a [. sigmoid(gate)] * Wo [+ bo]                    [output_bias]
 *             or a recurrence in place of attention: below       [is_recurrent]
 *             or with keys and values that come of one vector    [kv_rank]
 *         x += [norm of: post_norms] a * residual_scale
 *         y = norm(x)                                            [not without pre_norms]
 *             or the norm of x before a was added, or y as it was for q, k and v  [parallel, one_norm]
 *         y = (act(y * Wgate [+ bgate]) . (y * Wup [+ bup])) * Wdown [+ bdown]    [ffn_bias]
 *             or act(y * Wup [+ bup]) * Wdown [+ bdown]          [not gated]
 *             or the experts that a router chooses: sum of weight . expert(y)     [expert_count]
 *             or both                                            [experts_beside]
 *         x += [norm of: post_norms] y * residual_scale
 *         x += norm((act(x * Wgate2) . z[layer]) * Wproject2)    [per_layer_dim]
 *         x = x * the layer's number                             [layer_scales]
 *     logits = cap((norm(x) * Woutput [+ boutput: head_bias]) * logit_scale)
 *                                                                Woutput = embedding if tied_embeddings
 *
 * The recurrence (a gated delta net), whose matrices S, one for each head, go from token to token:
 *
 *     q, k, v = silu(a convolution of y * Wqkv over the last recurrent_width tokens)
 *     S = S * exp(A * softplus(y * Walpha + dt));  S += k (v - k S) sigmoid(y * Wbeta)       q and k of length 1
 *     a = (rms_norm(q S) . silu(y * Wgate)) * Wout
 *
 * Latent attention, whose cache has one vector c and one rotated part r for all heads:
 *
 *     c, r = norm(y * Wkv_a), the rest of it rotated by p;  q = y * Wq, or norm(y * Wq_a) * Wq_b     [q_rank]
 *     a head's key is (c * Wk, r) and its value c * Wv; computed as (q * Wk^T, rotated q) . (c, r), and (sum of c) * Wv
 *
 * An encoder reads a text at once and has no logits: [bidirectional] positions see later ones, too; [norms_after_sum]
 * x = norm(x + a) and x = norm(x + y), and no others but one of the embedding, to which a row of [token_types] is added.
 * What it makes of a text is in model_embedding.
 *
 * norm is rms_norm(x, norm_epsilon) with weights, + 1 if norm_adds_one; or LayerNorm [layer_norm], with biases
 * [norm_bias]. cap(z) = limit * tanh(z / limit), or z if the limit is 0.                 */
#ifndef SOLO_CONFIG_H
#define SOLO_CONFIG_H

#include "base/err.h"
#include "model/gguf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    ARCH_LLAMA,
    ARCH_MISTRAL, /* and ministral */
    ARCH_QWEN2,
    ARCH_QWEN3,
    ARCH_PHI3,
    ARCH_GEMMA,
    ARCH_GEMMA2,
    ARCH_GEMMA3,
    ARCH_GEMMA3N,
    ARCH_GEMMA4,
    ARCH_SMOLLM3,
    ARCH_OLMO2,
    ARCH_OLMO3, /* GGUF calls it olmo2, too */
    ARCH_GRANITE,
    ARCH_STARCODER2,
    ARCH_GPT2,
    ARCH_GPT_NEOX,
    ARCH_PHI,
    ARCH_GLM4,
    ARCH_EXAONE4,
    ARCH_COHERE,
    ARCH_COHERE2,
    ARCH_STABLELM,
    ARCH_QWEN2_MOE,
    ARCH_QWEN3_MOE,
    ARCH_GPT_OSS,
    ARCH_QWEN35,
    ARCH_QWEN35_MOE,
    ARCH_DEEPSEEK2,
    ARCH_DEEPSEEK3, /* GGUF calls it deepseek2, too */
    ARCH_BERT,      /* and roberta, xlm-roberta */
    ARCH_NOMIC_BERT,
    ARCH_GEMMA_EMBEDDING /* as GGUF calls it; a folder is a gemma3 that is bidirectional */
} model_arch;

typedef enum {
    ACT_SILU,
    ACT_GELU_TANH, /* the approximation with tanh */
    ACT_GELU,
    ACT_RELU,
    ACT_RELU2,      /* squared */
    ACT_CLAMPED_GLU /* of gate and up together: BINARY_CLAMPED_GLU of graph.h */
} model_act;

typedef enum {
    QK_NORM_NONE,
    QK_NORM_HEADS, /* each head by the same weight of (head_dim) */
    QK_NORM_EACH,  /* each head by one of its own: a LayerNorm without a bias */
    QK_NORM_ROWS   /* all heads together */
} qk_norms;

/* Which two numbers of a head one angle turns. */
typedef enum {
    ROPE_HALVES,  /* x[i] and x[i + rope_dims/2]: Hugging Face, and GGUF but for llama */
    ROPE_ADJACENT /* x[2i] and x[2i+1]: llama in GGUF, where q's and k's rows are reordered for it */
} rope_order;

/* How the angles are stretched for more positions than were trained at first. Whatever
 * it is, `rope_divisors` already says what to do; this says why. */
typedef enum {
    ROPE_PLAIN,
    ROPE_LINEAR,   /* all angles by rope_factor */
    ROPE_LLAMA3,   /* slow angles by rope_factor, fast ones not at all, those between in between */
    ROPE_LONGROPE, /* each by a number of its own, from one list for short and one for long contexts */
    ROPE_YARN,     /* as llama3, but between two numbers of turns, and the magnitude grows with the factor */
    ROPE_DYNAMIC,  /* only beyond context_tok, by rope_factor and the position: the longer the text, the slower */
    ROPE_SHARE,    /* the first pairs as they are, as if all rotated; the others stay */
    ROPE_GIVEN     /* each by a number of its own, from the file (what GGUF makes of llama3), and by rope_factor */
} rope_scaling;

/* How the vectors of a text's tokens become one. */
typedef enum {
    POOLING_UNSAID, /* the files do not say */
    POOLING_NONE,   /* not at all */
    POOLING_MEAN,
    POOLING_CLS, /* the first token's */
    POOLING_LAST /* the last token's */
} model_pooling;

enum { CONFIG_MAX_DENSE = 2 };

/* A layer behind pooling: y = x W [+ b], or tanh of it. GGUF's names are dense_2 and dense_3. */
typedef struct dense_layer {
    uint32_t rows, columns;
    bool biased, tanh;
} dense_layer;

/* What becomes of a text's tokens, where files say it. */
typedef struct model_embedding {
    model_pooling pooling;
    uint32_t dense_count;
    dense_layer dense[CONFIG_MAX_DENSE];
    bool raw;          /* not made of length 1 */
    uint32_t most_tok; /* of a text; 0: context_tok */
    char why_not[200]; /* what the files ask for and is not supported; empty: nothing */
} model_embedding;

enum { CONFIG_MAX_LAYERS = 512, CONFIG_MAX_HEAD_DIM = 1024, CONFIG_MAX_EXPERTS = 4096, CONFIG_MAX_RECURRENT_KEY = 256 };

typedef struct model_config {
    model_arch arch;

    /* sizes, in numbers */
    uint32_t layer_count;
    uint32_t vocab_tok;     /* rows of the embedding */
    uint32_t context_tok;   /* positions it was made for */
    uint32_t embedding_dim; /* of x */
    uint32_t ffn_dim;       /* of what lies between Wgate, Wup and Wdown */
    uint32_t head_count;    /* of q; a multiple of kv_head_count */
    uint32_t kv_head_count; /* of k and v */
    uint32_t head_dim;      /* of one head of q, k and v; need not be embedding_dim / head_count */
    uint32_t local_head_dim, local_kv_head_count; /* of windowed layers; 0: as all others */
    uint32_t
        kv_shared_layers;   /* the last so many take k and v of the last one before them that is windowed as they are */
    uint32_t late_ffn_dim;  /* ffn_dim of those; 0: as all others */
    uint32_t per_layer_dim; /* of what each layer has for each token; 0: nothing */
    uint32_t per_layer_vocab_tok; /* tokens that have it: mostly all */

    /* several streams of x (gemma3n); streams 0: one, as described above. decoder_streams.c has the layer. */
    uint32_t streams, active_stream; /* and the one that layers compute on */
    bool scales_active;              /* it has a scale of its own where a layer's input is added */
    uint32_t laurel_rank;
    uint8_t is_sparse[CONFIG_MAX_LAYERS];       /* (layer_count): gates count only above their row's mean, */
    float cutoff_deviations[CONFIG_MAX_LAYERS]; /* by so many deviations */

    /* attention */
    float attention_scale;                   /* of q . k: 1 / sqrt(head_dim), or what gemma2 says */
    float attention_cap;                     /* limit of the scores; 0: none */
    uint32_t window_tok;                     /* positions that windowed layers see, the own among them; 0: none is */
    uint8_t is_windowed[CONFIG_MAX_LAYERS];  /* (layer_count); all 0 if window_tok is 0 */
    uint8_t is_unrotated[CONFIG_MAX_LAYERS]; /* (layer_count): layers without rope */
    bool attention_gated;                    /* Wq makes q and a gate for each head */
    bool qkv_bias, output_bias, ffn_bias, head_bias;
    bool attention_sinks; /* each head has the score of a position more, whose value is 0 */
    qk_norms qk_norm;
    bool value_norm;
    bool value_is_key; /* of layers that see all: v is k before its norm and its turn */

    /* rope: pair i of a head is rotated by p / (rope_base ^ (2i / rope_dims) * rope_divisors[..][i]),
     * sine and cosine multiplied by rope_magnitude; the last head_dim - rope_dims stay */
    rope_order rope_order;
    uint32_t rope_dims; /* even, at most head_dim; 0: no layer has rope */
    float rope_base;
    float rope_local_base; /* of windowed layers, whose angles are not stretched; 0: they are as all others */
    float rope_magnitude;
    rope_scaling rope_scaling;
    bool rope_divisors_missing; /* GGUF without its data: they are in the tensors rope_freqs.weight (given), or
                                 * rope_factors_short.weight and rope_factors_long.weight (longrope) */
    /* (rope_dims / 2) each; [1] in contexts of more than rope_original_tok positions; mostly both the same, and 1 */
    float rope_divisors[2][CONFIG_MAX_HEAD_DIM / 2];
    float rope_factor, rope_low_factor, rope_high_factor; /* linear and llama3, as they stand in the file; yarn's slow
                                                           * and fast beta */
    bool rope_whole_pairs;                                /* yarn's bounds are whole numbers of pairs */
    uint32_t rope_original_tok;                           /* positions trained at first; llama3, yarn and longrope */

    /* latent attention; kv_rank 0: none. The last rope_dims of a head_dim turn. */
    uint32_t kv_rank, q_rank; /* numbers of c; of what q is made of, 0: it is made at once */
    uint32_t value_dim;       /* of a head's value */
    float latent_epsilon;     /* of the norms in between */

    /* layers with a recurrence in place of attention; recurrent_heads 0: there are none */
    uint8_t is_recurrent[CONFIG_MAX_LAYERS];       /* (layer_count) */
    uint32_t recurrent_heads, recurrent_key_heads; /* of v; of q and k: it divides those */
    uint32_t recurrent_value_dim, recurrent_key_dim;
    uint32_t recurrent_width; /* tokens that a convolution spans, the own among them */
    bool recurrent_tiled;     /* head h of v has head h % recurrent_key_heads of q and k; else neighbours share one */
    uint32_t extra_layers;    /* that the file has after the others, for guesses of more tokens: not used */

    /* a mixture of experts, gated each; expert_count 0: none. A router's scores choose expert_used for each token. */
    uint32_t expert_count, expert_used, expert_ffn_dim;
    uint32_t shared_ffn_dim;    /* of one that all tokens have, by a sigmoid gate of its own; 0: there is none */
    bool shared_gated;          /* that gate is there */
    bool expert_weights_normed; /* the weights of those that are chosen add up to 1 */
    bool expert_bias;           /* of the router and of all matrices */
    float expert_scale;         /* of those weights */
    bool expert_sigmoid;        /* scores are sigmoids, not a softmax */
    bool expert_choice_bias;    /* is added to the scores for the choice only */
    uint32_t expert_groups, expert_groups_used; /* experts are of the best groups only; 0: there are none */
    uint32_t dense_layers;                      /* the first so many layers have no experts */
    bool experts_beside; /* beside the feed-forward layer, not in place of it (gemma4): decoder_beside.c */

    /* the rest */
    model_act act;
    float norm_epsilon;
    bool layer_norm, norm_bias;
    bool norm_adds_one;         /* norms multiply by 1 + weight (gemma; GGUF has the 1 in its weights) */
    bool pre_norms, post_norms; /* norms before attention and feed-forward; after them */
    bool parallel;              /* the feed-forward layer does not see what attention adds, */
    bool one_norm;              /* but what attention sees */
    bool gated;
    bool learned_positions; /* (context_tok, embedding_dim), added to the embedding */
    float embedding_scale;  /* 1, or sqrt(embedding_dim) (gemma) */
    float residual_scale, logit_scale;
    bool layer_scales;    /* each layer multiplies what it makes by a number of the file */
    float logit_cap;      /* limit of the logits; 0: none */
    bool tied_embeddings; /* the output uses the embedding's weights */

    /* encoders */
    bool bidirectional, norms_after_sum;
    uint32_t token_types;     /* rows of what is added to each token's embedding, of which the first is; 0: none */
    uint32_t position_offset; /* the row of learned_positions of the first token (roberta) */
    model_embedding embedding;
} model_config;

/* Errors name the key, and call the file "GGUF": the reader does not tell its name. */
bool config_from_gguf(const gguf *g, model_config *c, err *e);

/* `text` is a config.json of any age: with rope_theta or with rope_parameters, and so on;
 * `name` its file, for errors. Not in the browser, which reads GGUF only. */
bool config_from_hf(const char *text, size_t length, const char *name, model_config *c, err *e);

/* What was missing (rope_divisors_missing), from the tensor of this name. */
bool config_give_divisors(model_config *c, const char *name, const float *values, err *e);

/* Of yarn, how much of a pair's angle stays as it is, in f32 as transformers has it: 1 all, 0 nothing. */
float config_yarn_kept(const model_config *c, uint32_t pair);

/* The sizes of a layer, and the layer whose k and v it sees: mostly itself. */
uint32_t config_head_dim(const model_config *c, uint32_t layer);
uint32_t config_kv_head_count(const model_config *c, uint32_t layer);
uint32_t config_ffn_dim(const model_config *c, uint32_t layer);
uint32_t config_cache_layer(const model_config *c, uint32_t layer);
/* Can it only make embeddings? */
bool config_is_encoder(const model_config *c);

/* "llama" */
const char *config_arch_name(model_arch arch);

#endif
