/* grammar_json: what a model may write as JSON. */
#include "serve/grammar_json.h"

/* Blanks may stand where people lay JSON out, and only so many: a model would never come to an end. What readers of
 * JSON refuse does not come: numbers beyond doubles, halves of a surrogate pair, U+0000. */
const char grammar_json_rules[] =
    "begin ::= (\" \" | \"\\n\" \"\\n\"?)?\n"
    "ws ::= (\" \" | \"\\n\" [ \\t]{0,16})?\n"
    "colon ::= \":\" \" \"?\n"
    "value ::= object | array | string | number | boolean | null\n"
    "object ::= \"{\" (ws member (\",\" ws member)*)? ws \"}\"\n"
    "member ::= string colon value\n"
    "array ::= \"[\" (ws value (\",\" ws value)*)? ws \"]\"\n"
    "char ::= [^\"\\\\\\x00-\\x1F\\x7F] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" code)\n"
    "code ::= [1-9a-cA-CefEF] hex{3} | [dD] ([0-7] | [89abAB] hex{2} \"\\\\u\" [dD] [c-fC-F]) hex{2}"
    " | \"0\" ([1-9a-fA-F] hex{2} | \"0\" ([1-9a-fA-F] hex | \"0\" [1-9a-fA-F]))\n"
    "hex ::= [0-9a-fA-F]\n"
    "string ::= \"\\\"\" char* \"\\\"\"\n"
    "integer ::= \"-\"? (\"0\" | [1-9] [0-9]{0,15})\n"
    "number ::= integer (\".\" [0-9]{1,16})? ([eE] (\"+\"? [0-9]{1,2} | \"-\" [0-9]{1,3}))?\n"
    "boolean ::= \"true\" | \"false\"\nnull ::= \"null\"\n";
