// Kernels made as short as can be. Software drivers put everything that was called in place, write loops out, and make each
// access to memory a row of branches; and the time some of their passes take grows with the square of what came out.
const COMPACT = 1u;
fn at_run_time(value: u32) -> u32 { return value + course.nothing; }
