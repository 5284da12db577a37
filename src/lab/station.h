/* station: a device with everything on it that is to be measured: the chains
 * and the cells that run on them. */
#ifndef SOLO_LAB_STATION_H
#define SOLO_LAB_STATION_H

#include "lab/cell.h"
#include "lab/device.h"

typedef struct station_cell {
    cell_spec spec;
    chain *c;
} station_cell;

typedef struct station {
    lab_device device;
    chain **chains;
    uint32_t chain_count;
    station_cell *cells;
    uint32_t cell_count;
} station;

/* A chain with at most this many workgroups in its single dispatch, and no more
 * than are resident for that very kernel. NULL on an error. */
chain *station_add_chain(station *s, const chain_kind *kind, uint32_t workgroups, err *e);

/* A cell, unless it cannot be had on this device. `n`: a fixed length; 0: chosen
 * by station_choose_lengths. */
void station_add_cell(station *s, cell_name name, chain *c, launch how, uint32_t n);

/* Lengths that take about `budget_us` at most, three (few) or five to a cell. */
bool station_choose_lengths(station *s, double budget_us, bool few, err *e);

/* By every strategy and in both ways, a wait must end after the device's own clock
 * says the work did. */
bool station_check_waits(station *s, err *e);

bool station_measure(station *s, uint32_t cell, uint32_t point, cell_time *t, err *e);

void station_close(station *s);

#endif
