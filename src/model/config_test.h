/* config_test: what of config.h only tests call. */
#ifndef SOLO_CONFIG_TEST_H
#define SOLO_CONFIG_TEST_H

#include "model/config.h"

/* Positions that a layer sees when there are `context_tok` of them. */
uint32_t config_window(const model_config *c, uint32_t layer, uint32_t context_tok);

#endif
