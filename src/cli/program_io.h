/* program_io: what goes into a program of PyTorch and comes out of it, as NumPy and JSON files. */
#ifndef SOLO_CLI_PROGRAM_IO_H
#define SOLO_CLI_PROGRAM_IO_H

#include "base/str.h"
#include "model/aten.h"

/* The elements of a file as words of a port: floats, or integers. Of .npy, else of JSON: numbers, in lists or not. To be
 * freed; NULL with an error. */
uint32_t *program_read_file(const aten_port *port, const char *path, err *e);
/* As .npy. */
bool program_write_npy(const aten_port *port, const uint32_t *words, const char *path, err *e);
/* {"shape": [..], "data": [..]} as a member of the open object; an error where JSON has no way to write a number. */
bool program_write_json(const aten_port *port, const uint32_t *words, str *out, err *e);

#endif
