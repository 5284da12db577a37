/* lora: LoRA adapters, merged into a model's weights when it is opened.
 *
 * An adapter is a GGUF file (general.type "adapter") or a PEFT folder (adapter_config.json, adapter_model.safetensors).
 * For some matrices W of the model it has two small ones: W + scale * B A is what runs. Matrices of f32 stay f32; all
 * others become f16, because a step of a quantised type is larger than what an adapter adds to a weight, as a rule.
 *
 * What does not fit is refused, and nothing of an adapter is ever left out. Not in the browser. */
#ifndef SOLO_LORA_H
#define SOLO_LORA_H

#include "model/model.h"

/* `scale` times what the adapter says itself. After an error the model is not to be used. */
bool lora_merge(model *m, const char *path, float scale, err *e);
/* "FILE" or "FILE:scale". */
bool lora_merge_text(model *m, const char *text, err *e);

#endif
