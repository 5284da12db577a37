/* device: an implementation on a device, with what was found out about it. */
#ifndef SOLO_LAB_DEVICE_H
#define SOLO_LAB_DEVICE_H

#include "base/jsonw.h"
#include "gpu/gpu.h"

typedef struct lab_device {
    gpu *g; /* open in this process; NULL where only the facts below are known */
    gpu_info info;
    gpu_wait_mode wait_mode;
    bool no_validation, no_robustness;
    uint32_t resident_workgroups;
    double copy_gbps;
} lab_device;

/* Open, check every feature by a shader, and find how many workgroups are
 * resident; `measure_copy` adds the bandwidth, which takes a second. */
bool lab_device_open(lab_device *d, const gpu_choice *choice, bool measure_copy, err *e);
void lab_device_close(lab_device *d);

/* As a member `key` of the record being written (NULL inside an array). */
void lab_device_write(const lab_device *d, jsonw *j, const char *key);

#endif
