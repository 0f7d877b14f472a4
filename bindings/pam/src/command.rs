//! The program of `users = command:`, started by a process that is not ours.

use seconder::model::UserId;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The first descriptor that is not standard input, output or error.
const FIRST: libc::c_uint = 3;
/// The umask: only their owner can write the files and folders that the program creates.
const UMASK: libc::mode_t = 0o022;
/// Limits of the program: the desired value, and a value that suffices where the process has no right to raise limits,
/// as root in some containers.
const LIMITS: [(libc::__rlimit_resource_t, libc::rlim_t, libc::rlim_t); 7] = [
    (libc::RLIMIT_CPU, libc::RLIM_INFINITY, 60),
    (libc::RLIMIT_FSIZE, libc::RLIM_INFINITY, 64 * MIB),
    (libc::RLIMIT_DATA, libc::RLIM_INFINITY, 512 * MIB),
    (libc::RLIMIT_AS, libc::RLIM_INFINITY, 1024 * MIB),
    (libc::RLIMIT_NPROC, libc::RLIM_INFINITY, 1024),
    (libc::RLIMIT_STACK, 8 * MIB, 8 * MIB),
    (libc::RLIMIT_NOFILE, 1024, 256),
];
const MIB: libc::rlim_t = 1024 * 1024;
/// The number of signals on Linux.
const SIGNALS: usize =
    if cfg!(target_arch = "mips") || cfg!(target_arch = "mips64") { 128 } else { 64 };

/// Runs the program.
pub(crate) fn run(
    program: &Path,
    login: &str,
    timeout: Duration,
) -> Result<Option<UserId>, String> {
    seconder_login::run_prepared(program, login, timeout, prepare)
}

/// Has the program start without the attributes that the login process inherited from the user who started it, as `su`
/// and `sudo` are: their limits, signals, umask, groups and user id, with which the user could make it fail or write;
/// and without the descriptors of the login process, which may be connections or the password database.
fn prepare(command: &mut Command) {
    // SAFETY: between fork and exec, the function makes system calls alone.
    unsafe { command.pre_exec(before) };
}

fn before() -> io::Result<()> {
    // Marked, not closed: the standard library has one to report that the program does not start.
    // SAFETY: the call marks the descriptors of a process that runs nothing but this function.
    succeeded(unsafe {
        libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    })?;
    // SAFETY: has no preconditions.
    unsafe { libc::umask(UMASK) };
    reset_signals()?;
    // SAFETY: both have no preconditions.
    let (real, effective) = unsafe { (libc::getuid(), libc::geteuid()) };
    if effective != 0 {
        return Ok(());
    }
    for (resource, wanted, enough) in LIMITS {
        // A daemon of root has the limits that its operator set.
        raise(resource, wanted, if real == 0 { 0 } else { enough })?;
    }
    // SAFETY: all have no preconditions. The C library's functions would change other threads, of
    // which a forked process has none.
    let dropped = unsafe { libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()) };
    // Some containers have no groups except their root's, and forbid this.
    if real != 0 {
        succeeded(dropped)?;
    }
    // SAFETY: as above.
    succeeded(unsafe { libc::syscall(libc::SYS_setresgid, 0, 0, 0) })?;
    // SAFETY: as above.
    succeeded(unsafe { libc::syscall(libc::SYS_setresuid, 0, 0, 0) })
}

/// No signal is blocked or ignored: a shell cannot change what was ignored when it began.
fn reset_signals() -> io::Result<()> {
    // Zeros are the default, no flags and no mask, in the order of every architecture. The C library's
    // function leaves the signals alone that it uses for threads, which others may have ignored too.
    let default = [0u64; 8];
    for signal in 1..=SIGNALS {
        // SAFETY: no handler is installed. It fails for those that cannot be changed.
        unsafe {
            let before = std::ptr::null_mut::<u64>();
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), before, SIGNALS / 8)
        };
    }
    let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is written to before it is read.
    let set = unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut())
    };
    succeeded(set.into())
}

/// Raises a limit, and the one up to which it can be raised, if they are lower. It is an error if less
/// remains than is enough.
fn raise(
    resource: libc::__rlimit_resource_t,
    wanted: libc::rlim_t,
    enough: libc::rlim_t,
) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit can be written to.
    succeeded(unsafe { libc::getrlimit(resource, &mut limit) }.into())?;
    let libc::rlimit { rlim_cur: now, rlim_max: most } = limit;
    for most in [most.max(wanted), most] {
        let raised = libc::rlimit { rlim_cur: now.max(wanted.min(most)), rlim_max: most };
        // SAFETY: the limit can be read.
        if unsafe { libc::setrlimit(resource, &raised) } == 0 {
            break;
        }
    }
    // SAFETY: the limit can be written to.
    succeeded(unsafe { libc::getrlimit(resource, &mut limit) }.into())?;
    if limit.rlim_cur >= enough { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
}

fn succeeded(returned: libc::c_long) -> io::Result<()> {
    if returned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
