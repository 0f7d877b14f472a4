//! The program of `users = command:`, started by a process that is not ours.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The first descriptor that is not standard input, output or error.
const FIRST: libc::c_uint = 3;

/// Has the program start without the descriptors of the login process, which may be connections or
/// the password database, and as root alone: `su` and `sudo` run with the number of their user
/// beside that of root, and shells give up root then.
pub(crate) fn prepare(command: &mut Command) {
    // SAFETY: between fork and exec, the function makes system calls alone.
    unsafe { command.pre_exec(before) };
}

fn before() -> io::Result<()> {
    // Marked, not closed: the standard library has one to report that the program does not start.
    // SAFETY: the call marks the descriptors of a process that runs nothing but this function.
    let marked = unsafe {
        libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
    if marked != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(());
    }
    // SAFETY: both have no preconditions. The C library's functions would change other threads, of
    // which a forked process has none.
    let changed = unsafe {
        libc::syscall(libc::SYS_setresgid, 0, 0, 0) == 0
            && libc::syscall(libc::SYS_setresuid, 0, 0, 0) == 0
    };
    if changed { Ok(()) } else { Err(io::Error::last_os_error()) }
}
