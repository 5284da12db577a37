/* bench_device: a device with the chains on it and the measurements that measure them. */
#ifndef SOLO_LAB_BENCH_DEVICE_H
#define SOLO_LAB_BENCH_DEVICE_H

#include "lab/measurement.h"
#include "lab/device.h"

typedef struct bench_device_measurement {
    measurement_spec spec;
    chain *c;
} bench_device_measurement;

typedef struct bench_device {
    lab_device device;
    chain **chains;
    uint32_t chain_count;
    bench_device_measurement *measurements;
    uint32_t measurement_count;
} bench_device;

/* A chain with at most this many workgroups in its single dispatch, and no more
 * than are resident for that very kernel. NULL on an error. */
chain *bench_device_add_chain(bench_device *s, const chain_kind *kind, uint32_t workgroups, err *e);

/* A measurement, unless it cannot be had on this device. `n`: a fixed length; 0: chosen
 * by bench_device_choose_lengths. */
void bench_device_add_measurement(bench_device *s, measurement_name name, chain *c, launch how, uint32_t n);

/* Lengths that take about `budget_us` at most, three (few) or five to a measurement. */
bool bench_device_choose_lengths(bench_device *s, double budget_us, bool few, err *e);

/* By every strategy and in both ways, a wait must end after the device's own clock
 * says the work did. */
bool bench_device_check_waits(bench_device *s, err *e);

bool bench_device_measure(bench_device *s, uint32_t measurement, uint32_t point, measurement_time *t, err *e);

void bench_device_close(bench_device *s);

#endif
