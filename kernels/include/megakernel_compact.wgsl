// Kernels as short as possible. Software drivers inline everything, unroll loops and turn each memory access into a
// row of branches, and the time of some of their passes grows with the square of the result.
const COMPACT = 1u;
fn at_run_time(value: u32) -> u32 { return value + solo_params.launch.zero; }
