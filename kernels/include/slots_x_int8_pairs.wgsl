// x for matmul_slots.wgsl as x_int8_pairs.wgsl has it.
//!include "slots_int8.wgsl"
