/* collect_memory: what jansson needs for a record, in blocks that are freed together.
 *
 * A record is thousands of small values, and half the work of taking one was to allocate and free them one by one. Between
 * these two calls, which do not nest, a thread's JSON values are parts of its blocks: nobody has to free them, and none
 * may be used afterwards. */
#ifndef SOLO_SERVE_COLLECT_MEMORY_H
#define SOLO_SERVE_COLLECT_MEMORY_H

/* Once, before threads use jansson; collect_memory_begin does it, too. */
void collect_memory_use(void);
void collect_memory_begin(void);
void collect_memory_end(void);

#endif
