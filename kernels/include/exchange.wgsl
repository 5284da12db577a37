// Words of ARRAY that one workgroup writes and another reads, in a dispatch of persistent.wgsl: through atomics, since
// plain stores may never be visible there, barrier or not. The old value returns; solo_drain_stores waits for it
// before a barrier.
fn ARRAY_load(i: u32) -> u32 { return atomicLoad(&ARRAY[i]); }
fn ARRAY_store(i: u32, value: u32) { solo_exchanged |= atomicExchange(&ARRAY[i], value); }
