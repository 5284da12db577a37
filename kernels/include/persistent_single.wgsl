// persistent.wgsl for a dispatch of one workgroup: its own barrier is enough, and every device has it.
struct solo_launch_params {
    roll_call: u32,
    spin_limit: u32,
    stall: u32,
    zero: u32, // 0, which compilers do not know
    @size(16) polls_epoch: u32,
}

fn solo_barrier(group: u32, local: u32, nth: u32, workgroups: u32) -> bool {
    storageBarrier();
    workgroupBarrier();
    return true;
}

fn solo_roll_call(local: u32) {}
fn solo_leave(local: u32, workgroups: u32, rounds: u32) {}
