/* program_io: .npy files and JSON. */
#include "cli/program_io.h"

#include "base/file.h"
#include "base/jsonw.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30, NPY_START = 10, NPY_ALIGN = 64 };

static bool is_float(const aten_port *port)
{
    return port->type == ATEN_F32 || port->type == ATEN_F16 || port->type == ATEN_F64 || port->type == ATEN_BF16;
}

/* False: an integer is needed, of 32 bits, as integers have here whatever the program calls them. */
static bool word_of(const aten_port *port, double number, uint32_t *word, err *e)
{
    float f = (float)number;
    memcpy(word, &f, sizeof *word);
    if (is_float(port))
        return isfinite(f) || !isfinite(number) ||
               err_set(e, "%s takes numbers up to %g, not %g", port->name, (double)FLT_MAX, number);
    if (!(number >= INT32_MIN && number <= INT32_MAX) || number != (int32_t)number)
        return err_set(e, "%s takes whole numbers from %d to %d, not %.17g", port->name, INT32_MIN, INT32_MAX, number);
    *word = (uint32_t)(int32_t)number;
    return true;
}

static double number_of(const aten_port *port, uint32_t word)
{
    float f;
    memcpy(&f, &word, sizeof f);
    return is_float(port) ? (double)f : (double)(int32_t)word;
}

static void shape_text(const aten_port *port, str *out)
{
    str_add(out, "");
    for (uint32_t d = 0; d < port->rank; d++)
        str_addf(out, "%s%u", d ? "x" : "", port->dims[d]);
}

/* ---- .npy ----------------------------------------------------------------------------------------------- */

/* The element type of a header: torch's number, or 0. */
static int npy_type(const char *header)
{
    static const char key[] = "'descr': ";
    const char *at = strstr(header, key);
    if (!at || strstr(at + 1, key))
        return 0;
    at += sizeof key - 1;
    static const struct {
        const char *text;
        int type;
    } types[] = {{"'<f4'", ATEN_F32},  {"'<f8'", ATEN_F64}, {"'<i4'", ATEN_I32}, {"'<i8'", ATEN_I64},
                 {"'|b1'", ATEN_BOOL}, {"'|u1'", ATEN_U8},  {"'|i1'", ATEN_I8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strncmp(at, types[i].text, strlen(types[i].text)) == 0)
            return types[i].type;
    return 0;
}

static double npy_element(int type, const char *at)
{
    int64_t whole;
    int32_t small;
    double d;
    float f;
    switch (type) {
    case ATEN_F32: memcpy(&f, at, sizeof f); return f;
    case ATEN_F64: memcpy(&d, at, sizeof d); return d;
    case ATEN_I64: memcpy(&whole, at, sizeof whole); return (double)whole;
    case ATEN_I32: memcpy(&small, at, sizeof small); return small;
    case ATEN_I8: return *(const int8_t *)at;
    default: return *(const uint8_t *)at;
    }
}

/* Does "'shape': (2, 3)" say what the port has? */
static bool has_shape(const char *header, const aten_port *port)
{
    const char *at = strstr(header, "'shape': (");
    uint32_t d = 0;
    if (!at)
        return false;
    for (at += strlen("'shape': ("); *at && *at != ')'; d++) {
        char *end;
        unsigned long size = strtoul(at, &end, 10);
        if (end == at || d == port->rank || size != port->dims[d])
            return false;
        at = end + strspn(end, ", ");
    }
    return d == port->rank;
}

static bool read_npy(const aten_port *port, const char *bytes, size_t length, uint32_t *words, err *e)
{
    size_t header_bytes = (uint8_t)bytes[8] | (size_t)(uint8_t)bytes[9] << 8;
    if (bytes[6] != 1)
        return err_set(e, "only version 1 of the format is read");
    if (header_bytes > length - NPY_START)
        return err_set(e, "it is cut");
    str header = {0};
    str_add_bytes(&header, bytes + NPY_START, header_bytes);
    int type = npy_type(header.data);
    bool in_order = strstr(header.data, "'fortran_order': False") != NULL, fits = has_shape(header.data, port);
    str_free(&header);
    str wanted = {0};
    shape_text(port, &wanted);
    bool ok = type && in_order;
    if (!ok)
        err_set(e, "its elements must be floats or integers, little-endian and in C order");
    else if (!fits)
        ok = err_set(e, "%s has the shape %s", port->name, wanted.data);
    else if ((length - NPY_START - header_bytes) / aten_type_bytes(type) != port->count)
        ok = err_set(e, "it is cut, or has more elements than its shape");
    for (uint64_t i = 0; ok && i < port->count; i++)
        ok = word_of(port, npy_element(type, bytes + NPY_START + header_bytes + i * aten_type_bytes(type)), &words[i],
                     e);
    str_free(&wanted);
    return ok;
}

/* ---- JSON ----------------------------------------------------------------------------------------------- */

/* Lists in lists have the port's shape; one list has all numbers in a row, whatever the shape is. */
static bool has_lists(const jsonr *value)
{
    const jsonr *item;
    jsonr_each(item, value) if (jsonr_is(item, JSONR_LIST)) return true;
    return false;
}

static bool fits(const aten_port *port, const jsonr *value, uint32_t depth)
{
    if (!jsonr_is(value, JSONR_LIST))
        return depth == port->rank;
    return depth < port->rank && jsonr_count(value) == port->dims[depth];
}

/* `nested`: the lists are to have the shape. */
static bool add_numbers(const aten_port *port, const jsonr *value, uint32_t *words, uint64_t *count, uint32_t depth,
                        bool nested, err *e)
{
    if (nested && !fits(port, value, depth)) {
        str shape = {0};
        shape_text(port, &shape);
        err_set(e, "%s has the shape %s, and these lists have another", port->name, shape.data);
        str_free(&shape);
        return false;
    }
    if (jsonr_is(value, JSONR_LIST) && depth <= ATEN_MAX_RANK) {
        const jsonr *item;
        jsonr_each(item, value) if (!add_numbers(port, item, words, count, depth + 1, nested, e)) return false;
        return true;
    }
    bool is_bool = jsonr_is(value, JSONR_BOOL);
    if (!is_bool && !jsonr_is_number(value))
        return err_set(e, "numbers are needed, in lists or not");
    uint64_t at = (*count)++;
    return at >= port->count || word_of(port, is_bool ? jsonr_is_true(value) : jsonr_number(value), &words[at], e);
}

static bool read_json(const aten_port *port, const char *bytes, size_t length, uint32_t *words, err *e)
{
    jsonr *json = jsonr_read(bytes, length, e);
    uint64_t count = 0;
    bool ok = json && add_numbers(port, json, words, &count, 0, has_lists(json), e);
    if (ok && count != port->count)
        ok = err_set(e, "%s has %llu elements, not %llu", port->name, (unsigned long long)port->count,
                     (unsigned long long)count);
    jsonr_free(json);
    return ok;
}

uint32_t *program_read_file(const aten_port *port, const char *path, err *e)
{
    size_t length;
    char *bytes = file_read(path, MOST_BYTES, &length, e);
    if (!bytes)
        return NULL;
    uint32_t *words = mem_alloc(port->count * sizeof *words);
    bool is_npy = length >= NPY_START && memcmp(bytes, "\x93NUMPY", 6) == 0;
    bool ok = (is_npy ? read_npy : read_json)(port, bytes, length, words, e);
    free(bytes);
    if (ok)
        return words;
    err_context(e, "%s", path);
    free(words);
    return NULL;
}

/* ---- writing -------------------------------------------------------------------------------------------- */

bool program_write_npy(const aten_port *port, const uint32_t *words, const char *path, err *e)
{
    str header = {0}, out = {0};
    str_addf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", is_float(port) ? "<f4" : "<i4");
    for (uint32_t d = 0; d < port->rank; d++)
        str_addf(&header, "%u,%s", port->dims[d], d + 1 < port->rank ? " " : "");
    str_add(&header, "), }");
    while ((NPY_START + header.length + 1) % NPY_ALIGN)
        str_add(&header, " ");
    str_add(&header, "\n");
    str_add_bytes(&out, "\x93NUMPY\x01", 7);
    str_add_bytes(&out, (char[]){0, (char)(header.length & 255), (char)(header.length >> 8)}, 3);
    str_add_bytes(&out, header.data, header.length);
    str_add_bytes(&out, (const char *)words, port->count * sizeof *words);
    bool ok = file_write(path, out.data, out.length, e);
    str_free(&header);
    str_free(&out);
    return ok;
}

bool program_write_json(const aten_port *port, const uint32_t *words, str *out, err *e)
{
    str_addf(out, "{\"shape\": [");
    for (uint32_t d = 0; d < port->rank; d++)
        str_addf(out, "%s%u", d ? ", " : "", port->dims[d]);
    str_add(out, "], \"data\": [");
    for (uint64_t i = 0; i < port->count; i++) {
        double number = number_of(port, words[i]);
        if (!isfinite(number))
            return err_set(e,
                           "element %llu of the output %s is %g, which JSON cannot say: --out FOLDER writes .npy files",
                           (unsigned long long)i, port->name, number);
        str_add(out, i ? ", " : "");
        str_addf(out, is_float(port) ? "%.9g" : "%.0f", number);
    }
    str_add(out, "]}");
    return true;
}
