// Do workgroups see each other's data where it is exchanged as Solo's is? The words by exchange.wgsl, floats by
// epoch.wgsl.
const THREADS = 256u;
@group(0) @binding(1) var<storage, read_write> data: array<atomic<u32>>;
//!include "exchange.wgsl" ARRAY=data
//!include "litmus.wgsl"
