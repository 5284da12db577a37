// Kernels as fast as possible.
const COMPACT = 0u;
fn at_run_time(value: u32) -> u32 { return value; }
