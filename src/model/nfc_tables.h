/* nfc_tables: the data of nfc.c, made by tools/nfc.mjs; each list is in rising order of its first numbers. */
#ifndef SOLO_NFC_TABLES_H
#define SOLO_NFC_TABLES_H

#include <stdint.h>

/* A character, and what it is made of: nfc_pool[first .. first + count). */
typedef struct nfc_part {
    uint32_t point, first, count;
} nfc_part;

/* Two characters, and what they become. */
typedef struct nfc_pair {
    uint32_t left, right, whole;
} nfc_pair;

/* A mark, and the class it is ordered by, from 1. */
typedef struct nfc_mark {
    uint32_t point, order;
} nfc_mark;

enum { NFC_MOST_ORDERS = 64 };

extern const nfc_part nfc_parts[];
extern const uint32_t nfc_part_count;
extern const uint32_t nfc_pool[];
extern const nfc_pair nfc_pairs[];
extern const uint32_t nfc_pair_count;
extern const nfc_mark nfc_marks[];
extern const uint32_t nfc_mark_count;

#endif
