/* grammar_json: JSON as rules of a grammar. */
#ifndef SOLO_GRAMMAR_JSON_H
#define SOLO_GRAMMAR_JSON_H

/* begin, ws, colon, value, object, member, array, char, string, integer, number, boolean, null. */
extern const char grammar_json_rules[];

#endif
