//! `seconder reload`, which finds a service by the file with its id.

use crate::admin::output::print;
use crate::admin::serve::options::Reload;
use crate::admin::serve::pid_file::{answer, holder, read_id};
use crate::invalid;
use rustix::process::{Signal, kill_process};
use seconder::Result;
use seconder::files::open_plain;
use std::fs::File;
use std::time::{Duration, Instant};

/// The time that a service may take: it may have to wait for its database.
const PATIENCE: Duration = Duration::from_secs(60);

const LOOK: Duration = Duration::from_millis(20);

/// Runs `seconder reload`.
pub(crate) fn run(options: &Reload) -> Result<()> {
    let path = &options.pid_file;
    let wrong = |reason: String| invalid("pid-file", format!("{} {reason}", path.display()));
    let cannot = |error| wrong(format!("cannot be read, so no service was found: {error}"));
    let file = open_plain(path, File::options().read(true)).map_err(cannot)?;
    let ended = || wrong("is that of a service that has ended".to_owned());
    let service = holder(&file).ok_or_else(ended)?;
    let started = Instant::now();
    // The file is empty while the service starts.
    let mut id = read_id(&file).map_err(cannot)?;
    while id.is_none() && started.elapsed() < PATIENCE && holder(&file) == Some(service) {
        std::thread::sleep(LOOK);
        id = read_id(&file).map_err(cannot)?;
    }
    if id != Some(service.as_raw_nonzero().get()) {
        return Err(wrong("is held by another process than it names".to_owned()));
    }
    let before = answer(path).map_or(0, |(number, ..)| number);
    kill_process(service, Signal::HUP).map_err(|error| {
        wrong(format!("is that of process {service}, which cannot be signalled: {error}"))
    })?;
    let started = Instant::now();
    loop {
        match answer(path).filter(|(number, ..)| *number != before) {
            Some((_, true, lines)) => return print(lines.trim_end()),
            Some((_, false, lines)) => {
                let reason = format!("was read again in vain: {}", lines.trim_end());
                return Err(invalid("configuration", reason));
            }
            None if holder(&file) != Some(service) => return Err(ended()),
            None if started.elapsed() > PATIENCE => {
                let reason = "is that of a service that has not answered: see its log. One that was \
                              started with SIGHUP ignored, as by nohup, reads nothing again";
                return Err(wrong(reason.to_owned()));
            }
            None => std::thread::sleep(LOOK),
        }
    }
}
