// One workgroup: its own barrier is enough, and every device has it.
fn solo_barrier(group: u32, local: u32, nth: u32, workgroups: u32) -> bool {
    storageBarrier();
    workgroupBarrier();
    return true;
}

fn solo_call_roll(local: u32) {}
