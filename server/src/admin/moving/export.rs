//! `seconder export`.

use super::format::{Format, STANDARD};
use super::sealed::{SealKey, Sealer};
use super::text;
use crate::admin::database::Database;
use crate::admin::output::files;
use crate::{invalid, log};
use clap::Args;
use seconder::engine::{Engine, UserRecord};
use seconder::{Error, Result};
use serde_json::Value;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The number of users that are read at once.
const PAGE: u32 = 500;

#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    database: Database,
    /// Format of the file; by default what its name ends in: .jsonl, .ndjson and .json, or .csv.
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Write the secrets of authenticator apps and the hashes of those of devices too: whoever has the file
    /// can make the codes of all users. Without this, apps and devices are left out.
    #[arg(long)]
    secrets: bool,
    /// File with a key, to seal what is written with: whoever lacks the key can neither read nor change it.
    /// `seconder import` has the same option. The key is 64 hexadecimal digits, such as `openssl rand -hex 32`
    /// prints, in a file that only its owner can read.
    #[arg(long, value_name = "FILE")]
    seal_key_file: Option<PathBuf>,
    /// File to create, for its owner alone; - for standard output, which has to be a pipe if there are
    /// secrets that are not sealed: to a program that encrypts them, such as age or gpg.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// The numbers of users, apps and devices that were written, or that were left out: for want of --secrets, or because
/// they stay here.
#[derive(Default)]
struct Counts {
    users: u64,
    apps: usize,
    devices: usize,
}

pub(crate) fn run(options: &Export) -> Result<()> {
    options.database.require_machine()?;
    let format = Format::of(options.format, &options.file)?;
    // Its file belongs to the user who runs this.
    let key = options.seal_key_file.as_deref().map(SealKey::read).transpose()?;
    let service = options.database.existing()?;
    let engine = service.require_engine()?;
    let counts = if options.file == Path::new(STANDARD) {
        check_standard_output(options.secrets && key.is_none())?;
        let mut out = Piped { out: io::stdout().lock(), is_closed: false };
        match write_sealed(engine, format, options.secrets, key, &mut out) {
            // The reader has all that it wants, such as `head`.
            Err(_) if out.is_closed => return Ok(()),
            done => done?,
        }
    } else {
        to_file(engine, format, options, key)?
    };
    log(&format!("exported users: {}", counts.users));
    if counts.apps + counts.devices > 0 {
        let why = match options.secrets {
            true => "which are phones with the approver: they have keys that they show to nobody",
            false => "--secrets exports them, but for phones with the approver",
        };
        log(&format!(
            "left out: authenticator apps {}, devices {}; {why}",
            counts.apps, counts.devices
        ));
    }
    Ok(())
}

/// Standard output, and whether its reader has closed the pipe.
struct Piped<W> {
    out: W,
    is_closed: bool,
}

impl<W: Write> Piped<W> {
    fn noted<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.is_closed |=
            done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        done
    }
}

impl<W: Write> Write for Piped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.noted(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.noted(done)
    }
}

/// Writes a file that must not exist, and which is there only once it is whole: a part of the users, taken for all
/// of them, would be imported without an error.
fn to_file(
    engine: &Engine,
    format: Format,
    options: &Export,
    key: Option<SealKey>,
) -> Result<Counts> {
    let path = &options.file;
    let cannot = |error| invalid("FILE", format!("{} cannot be created: {error}", path.display()));
    if path.try_exists().map_err(cannot)? {
        return Err(cannot(io::ErrorKind::AlreadyExists.into()));
    }
    let part = files::create(path).map_err(cannot)?;
    let counts = write_sealed(engine, format, options.secrets, key, part.file())?;
    part.file().sync_all().map_err(cannot_write)?;
    part.publish(path).map(|()| counts).map_err(cannot)
}

/// Secrets go neither to a screen nor to a file that a shell has made, which others may read.
#[cfg(unix)]
fn check_standard_output(secrets: bool) -> Result<()> {
    use rustix::fs::FileType;
    if !secrets {
        return Ok(());
    }
    let about = rustix::fs::fstat(io::stdout()).map_err(|error| cannot_write(error.into()))?;
    match FileType::from_raw_mode(about.st_mode) {
        FileType::Fifo | FileType::Socket => Ok(()),
        _ => Err(not_a_pipe()),
    }
}

#[cfg(not(unix))]
fn check_standard_output(secrets: bool) -> Result<()> {
    if secrets { Err(not_a_pipe()) } else { Ok(()) }
}

fn not_a_pipe() -> Error {
    let reason = "must name a file, which is created for its owner alone: with --secrets, standard output has \
                  to be a pipe to a program that encrypts what it reads, unless there is a --seal-key-file";
    invalid("FILE", reason.to_owned())
}

fn cannot_write(error: io::Error) -> Error {
    invalid("FILE", format!("cannot be written: {error}"))
}

/// Writes a file that is sealed if there is a key, and plain otherwise.
fn write_sealed(
    engine: &Engine,
    format: Format,
    secrets: bool,
    key: Option<SealKey>,
    to: impl Write,
) -> Result<Counts> {
    let Some(key) = key else { return write(engine, format, secrets, to) };
    let mut sealer = Sealer::new(key, to).map_err(cannot_write)?;
    let counts = write(engine, format, secrets, &mut sealer)?;
    sealer.finish().map_err(cannot_write)?;
    Ok(counts)
}

fn write(engine: &Engine, format: Format, secrets: bool, to: impl Write) -> Result<Counts> {
    let mut sink = Sink::new(format, BufWriter::with_capacity(256 * 1024, to))?;
    let (mut counts, mut after) = (Counts::default(), None);
    loop {
        let page = engine.export_users(after, PAGE, secrets)?;
        for user in &page.users {
            sink.add(user, secrets)?;
            counts.users += 1;
        }
        counts.apps += page.apps_left_out;
        counts.devices += page.devices_left_out;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    sink.end()?;
    Ok(counts)
}

enum Sink<W: Write> {
    Jsonl(W),
    Csv(Box<csv::Writer<W>>),
}

impl<W: Write> Sink<W> {
    fn new(format: Format, to: W) -> Result<Sink<W>> {
        match format {
            Format::Jsonl => Ok(Sink::Jsonl(to)),
            Format::Csv => {
                let mut csv = csv::Writer::from_writer(to);
                csv.write_record(UserRecord::FIELDS).map_err(of_csv)?;
                Ok(Sink::Csv(Box::new(csv)))
            }
        }
    }

    fn add(&mut self, user: &UserRecord, secrets: bool) -> Result<()> {
        let fields = text::fields(user, secrets);
        match self {
            Sink::Jsonl(to) => writeln!(to, "{}", Value::Object(fields)).map_err(cannot_write),
            Sink::Csv(csv) => {
                let columns = UserRecord::FIELDS.iter().map(|name| text::column(fields.get(*name)));
                csv.write_record(columns).map_err(of_csv)
            }
        }
    }

    fn end(self) -> Result<()> {
        match self {
            Sink::Jsonl(mut to) => to.flush().map_err(cannot_write),
            Sink::Csv(mut csv) => csv.flush().map_err(cannot_write),
        }
    }
}

fn of_csv(error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => cannot_write(error),
        _ => invalid("FILE", "cannot be written as CSV".to_owned()),
    }
}
