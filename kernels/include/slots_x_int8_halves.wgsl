// x for matmul_slots.wgsl as x_int8_halves.wgsl has it.
//!include "slots_int8.wgsl"
