//! `seconder import`.

use super::earlier::{Earlier, Place};
use super::format::{Format, ImportFormat, STANDARD};
use super::lines::{Lines, Parsed};
use super::progress::Progress;
use super::report::Report;
use super::sealed;
use super::sealed::{Input, SealKey};
use crate::admin::database::Database;
use crate::admin::input::COMMON;
use crate::admin::output::print;
use crate::{invalid, log};
use clap::Args;
use seconder::engine::operator::{ImportOutcome, ImportUsers, ImportedUser, UserFields};
use seconder::engine::{
    AuthenticatorRecord, Engine, Imported, Problem, SourceFormat, SourceOptions, UserRecord,
};
use seconder::otp::Algorithm;
use seconder::wire::Names;
use seconder::{Error, Result, Service};
use serde_json::Map;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// The number of users that share a transaction: a login waits for no longer than one of them takes.
const BATCH: usize = 500;
/// The bytes of a secret that RFC 4226, section 4, requires. Apps of other services have shorter ones.
const REQUIRED_SECRET: usize = 16;
/// The bytes of lines after which a batch ends: a service takes requests of 1 MiB.
const BATCH_BYTES: u64 = 512 * 1024;
/// The number of batches that are read ahead.
const AHEAD: usize = 4;

#[derive(Args)]
pub(crate) struct Import {
    #[command(flatten)]
    database: Database,
    /// Format of the file; by default what its name ends in: .jsonl, .ndjson and .json, or .csv.
    #[arg(long, value_name = "FORMAT")]
    format: Option<ImportFormat>,
    #[command(flatten)]
    source: SourceArguments,
    /// Check every line, also against the database, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// File to write everything to that is wrong, as JSON: one object with the line, the field and the
    /// problem in each line. A file that exists is replaced.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// What a user means who is here already with another number, say, or whose number somebody else has
    /// here: an error, for which the command fails at the end, or a line to skip. Either way it is
    /// reported, and nothing of it is imported.
    #[arg(long, value_name = "WHAT", default_value = "error")]
    on_conflict: OnConflict,
    /// Field or column to leave out; repeat it for more.
    #[arg(long, value_name = "FIELD")]
    ignore: Vec<String>,
    /// File with the key that the file was sealed with: see `seconder export`. A file that is not sealed is
    /// rejected then. One that was changed since is read up to there.
    #[arg(long, value_name = "FILE")]
    seal_key_file: Option<PathBuf>,
    /// Print the numbers as a JSON object.
    #[arg(long, help_heading = COMMON)]
    json: bool,
    /// File to read; - for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// The facts that files of other programs lack.
#[derive(Args)]
struct SourceArguments {
    /// User whose apps are in a file of otpauth, pam-google-authenticator or freeotp, who is created: a login
    /// name, an e-mail address, or a number that begins with +. Without it, the label of each otpauth: URI
    /// names its user.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Issuer whose apps are taken from a file of otpauth or freeotp. All others are left out.
    #[arg(long, value_name = "NAME")]
    issuer: Option<String>,
    /// Hash function of the apps in a file of privacyidea, by default SHA1; or SHA256 or SHA512.
    #[arg(long, value_name = "NAME")]
    algorithm: Option<Algorithm>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OnConflict {
    Error,
    Skip,
}

/// The counts of lines by outcome.
#[derive(Default)]
struct Tally {
    created: u64,
    unchanged: u64,
    conflicting: u64,
    bad: u64,
    /// Authenticator apps of the users who are here.
    short_secrets: u64,
    /// Users who are here and have neither a number nor an app or a device.
    without_factor: u64,
}

/// A line that was read.
enum Item {
    User(User),
    Bad(Vec<Problem>),
}

struct User {
    record: Box<UserRecord>,
    /// The fields, for a service on another machine.
    fields: UserFields,
}

/// The destination of the users: a database here, or a service on another machine.
#[derive(Clone, Copy)]
enum To<'a> {
    Engine(&'a Engine),
    Service(&'a Service, &'a Names),
}

struct Batch {
    items: Vec<(u64, Item)>,
    /// The offset in the file at which it ends.
    bytes: u64,
}

pub(crate) fn run(options: &Import) -> Result<()> {
    if options.database.is_sandbox() {
        let reason = "must not be sandbox:, of which nothing stays when the command ends";
        return Err(invalid("database", reason.to_owned()));
    }
    let format = match options.format.map(ImportFormat::source) {
        Some(Ok(source)) => Ok(source),
        Some(Err(format)) => Err(format),
        None => Err(Format::of(None, &options.file)?),
    };
    let key = options.seal_key_file.as_deref().map(SealKey::read).transpose()?;
    let (file, total) = open(&options.file)?;
    let lines = options.lines(sealed::opened(file, key)?, format)?;
    let mut report = Report::new(options.report.as_deref(), &options.file)?;
    let service = options.database.existing()?;
    let names = options.database.names()?.unwrap_or_default();
    let to = service.engine().map_or(To::Service(&service, &names), To::Engine);
    let mut progress = Progress::new(total);
    let mut tally = Tally::default();
    let done = thread::scope(|scope| {
        let (sender, batches) = sync_channel(AHEAD);
        scope.spawn(move || read(lines, to, &sender));
        write(to, &batches, options.dry_run, (&mut tally, &mut report, &mut progress))
    });
    progress.hide();
    report.end()?;
    print(&tally.text(options, progress.elapsed().as_secs_f64()))?;
    if tally.short_secrets > 0 {
        log(&format!(
            "warning: {} authenticator apps have secrets of less than 128 bits (RFC 4226). They go on \
             working; a new enrolment gives their users secrets of 160 bits",
            tally.short_secrets
        ));
    }
    if tally.without_factor > 0 {
        log(&format!(
            "warning: {} users have no phone number, no authenticator app and no device, so no code of theirs \
             can be right until they enrol an app",
            tally.without_factor
        ));
    }
    done?;
    tally.verdict(options)
}

impl Import {
    /// Returns the lines of a file.
    fn lines(
        &self,
        file: Input,
        format: std::result::Result<SourceFormat, Format>,
    ) -> Result<Lines<Input>> {
        let SourceArguments { user, issuer, algorithm } = &self.source;
        let (user, issuer) = (user.clone(), issuer.clone());
        let given = SourceOptions { user, issuer, algorithm: *algorithm };
        match format {
            Ok(source) => Lines::of_source(file, source, &given, &self.ignore),
            Err(_) if given != SourceOptions::default() => {
                let reason = "is not jsonl or csv if there is --user, --issuer or --algorithm";
                Err(invalid("format", reason.to_owned()))
            }
            Err(format) => Lines::new(file, format, &self.ignore),
        }
    }
}

/// Opens the file, and returns the number of its bytes, if it is known.
fn open(path: &Path) -> Result<(Input, Option<u64>)> {
    if path == Path::new(STANDARD) {
        return Ok((Box::new(std::io::stdin()), None));
    }
    let cannot = |error| invalid("FILE", format!("{} cannot be read: {error}", path.display()));
    let file = File::open(path).map_err(cannot)?;
    let about = file.metadata().map_err(cannot)?;
    Ok((Box::new(file), about.is_file().then_some(about.len())))
}

/// Reads the lines, on a thread of its own, until the receiver is gone.
fn read(mut lines: Lines<Input>, to: To<'_>, sender: &SyncSender<Result<Batch>>) {
    let mut with_ids = None;
    loop {
        let (batch, end) = batch(&mut lines, to, &mut with_ids);
        if sender.send(Ok(batch)).is_err() {
            return;
        }
        if let Some(end) = end {
            // The lines before an error are imported.
            drop(end.map_err(|error| sender.send(Err(error))));
            return;
        }
    }
}

/// Returns the next lines, and whether they end with the file or by an error.
fn batch(
    lines: &mut Lines<Input>,
    to: To<'_>,
    with_ids: &mut Option<bool>,
) -> (Batch, Option<Result<()>>) {
    let (mut items, mut end, begin) = (Vec::with_capacity(BATCH), None, lines.bytes());
    while items.len() < BATCH && lines.bytes() - begin < BATCH_BYTES && end.is_none() {
        match lines.next() {
            Ok(Some((line, fields))) => items.push((line, to.read(fields, with_ids))),
            Ok(None) => end = Some(Ok(())),
            Err(error) => end = Some(Err(error)),
        }
    }
    (Batch { items, bytes: lines.bytes() }, end)
}

impl To<'_> {
    fn read(self, fields: Parsed, with_ids: &mut Option<bool>) -> Item {
        let read = |fields| {
            let mut sent = UserFields(Map::new());
            let record = match self {
                To::Engine(engine) => engine.read_record(fields, with_ids)?,
                To::Service(_, names) => {
                    sent.0.clone_from(&fields);
                    UserRecord::read(fields, names, with_ids)?
                }
            };
            Ok(User { record: Box::new(record), fields: sent })
        };
        fields.map_err(|problem| vec![problem]).and_then(read).map_or_else(Item::Bad, Item::User)
    }

    /// Imports users of one batch. A service finds errors that only its clock or its settings show.
    fn import(
        self,
        users: Vec<&User>,
        dry_run: bool,
    ) -> Result<Vec<std::result::Result<Imported, Vec<Problem>>>> {
        match self {
            To::Engine(engine) => {
                let records = users.into_iter().map(|user| (*user.record).clone());
                let imported = engine.import_users(records.collect(), dry_run)?;
                Ok(imported.into_iter().map(Ok).collect())
            }
            To::Service(service, _) => {
                let users = users.into_iter().map(|user| user.fields.clone()).collect();
                let with_ids = None;
                let import = ImportUsers { users, with_ids, dry_run };
                let outcomes = service.operate(&import)?.outcomes;
                if outcomes.len() != import.users.len() {
                    let message = "there is not one outcome for each user".to_owned();
                    return Err(Error::InvalidResponse { message });
                }
                Ok(outcomes.into_iter().map(imported).collect())
            }
        }
    }
}

/// Returns the outcome that a service has replied with.
fn imported(user: ImportedUser) -> std::result::Result<Imported, Vec<Problem>> {
    match user.outcome {
        ImportOutcome::Created => Ok(Imported::Created),
        ImportOutcome::Unchanged => Ok(Imported::Unchanged),
        ImportOutcome::Conflicting => {
            let problem = user.problems.into_iter().next();
            Ok(Imported::Conflict(problem.unwrap_or_else(|| Problem::new("", "is in conflict"))))
        }
        _ => Err(user.problems),
    }
}

/// Imports the batches.
fn write(
    to: To<'_>,
    batches: &Receiver<Result<Batch>>,
    dry_run: bool,
    (tally, report, progress): (&mut Tally, &mut Report, &mut Progress),
) -> Result<()> {
    let mut earlier = dry_run.then(Earlier::default);
    for batch in batches {
        let Batch { items, bytes } = batch?;
        let users = items.iter().filter_map(|(_, item)| match item {
            Item::User(user) => Some(user),
            Item::Bad(_) => None,
        });
        let mut outcomes = to.import(users.collect(), dry_run)?.into_iter();
        for (line, item) in items {
            let problems = match item {
                Item::User(user) => match outcomes.next().unwrap_or(Ok(Imported::Unchanged)) {
                    Ok(imported) => {
                        let outcome = place(imported, line, &user.record, earlier.as_mut());
                        tally.count(outcome, &user.record).into_iter().collect()
                    }
                    Err(problems) => tally.bad(problems),
                },
                Item::Bad(problems) => tally.bad(problems),
            };
            for problem in problems {
                add(report, progress, line, &problem)?;
            }
        }
        progress.show(tally.lines(), bytes);
    }
    Ok(())
}

fn add(report: &mut Report, progress: &mut Progress, line: u64, problem: &Problem) -> Result<()> {
    if report.shows() {
        progress.hide();
    }
    report.add(line, problem)
}

/// Returns the outcome of the line, with the lines before it taken into account.
fn place(
    outcome: Imported,
    line: u64,
    user: &UserRecord,
    earlier: Option<&mut Earlier>,
) -> Outcome {
    let again = earlier.as_ref().and_then(|earlier| earlier.again(user));
    let place = match (again, &outcome, earlier) {
        (Some(again), ..) => again,
        (None, Imported::Created, Some(earlier)) => earlier.add(line, user),
        _ => Place::New,
    };
    match place {
        Place::New => {}
        Place::Again => return Outcome::Unchanged,
        Place::Conflict(problem) => return Outcome::Conflict(problem),
    }
    let known = match outcome {
        Imported::Created => return Outcome::Created,
        Imported::Unchanged => return Outcome::Unchanged,
        Imported::Conflict(problem) => problem,
        _ => Problem::new("", "was not imported"),
    };
    Outcome::Conflict(known)
}

enum Outcome {
    Created,
    Unchanged,
    Conflict(Problem),
}

impl Tally {
    fn count(&mut self, outcome: Outcome, user: &UserRecord) -> Option<Problem> {
        match outcome {
            Outcome::Created => self.created += 1,
            Outcome::Unchanged => self.unchanged += 1,
            Outcome::Conflict(problem) => {
                self.conflicting += 1;
                return Some(problem);
            }
        }
        let is_short = |app: &&AuthenticatorRecord| app.secret().len() < REQUIRED_SECRET;
        let short = user.authenticators.iter().filter(is_short).count();
        self.short_secrets += u64::try_from(short).unwrap_or(u64::MAX);
        let has_factor = user.phone().is_some() || !user.authenticators.is_empty();
        self.without_factor += u64::from(!has_factor && user.devices.is_empty());
        None
    }

    fn bad(&mut self, problems: Vec<Problem>) -> Vec<Problem> {
        self.bad += 1;
        problems
    }

    fn lines(&self) -> u64 {
        self.created + self.unchanged + self.conflicting + self.bad
    }

    fn text(&self, options: &Import, seconds: f64) -> String {
        let Tally { created, unchanged, conflicting, bad, short_secrets, without_factor } = self;
        if options.json {
            let numbers = serde_json::json!({
                "created": created, "unchanged": unchanged, "conflicting": conflicting, "bad": bad,
                "short_secrets": short_secrets, "without_factor": without_factor,
                "dry_run": options.dry_run, "seconds": (seconds * 1000.0).round() / 1000.0,
            });
            return numbers.to_string();
        }
        let dry = if options.dry_run { " dry_run=yes" } else { "" };
        format!("created={created} unchanged={unchanged} conflicting={conflicting} bad={bad}{dry}")
    }

    /// Fails if there are lines that the operator has to look at.
    fn verdict(&self, options: &Import) -> Result<()> {
        let counted = match options.on_conflict {
            OnConflict::Error => self.conflicting,
            OnConflict::Skip => 0,
        };
        if self.bad + counted == 0 {
            return Ok(());
        }
        let (bad, verb) = (self.bad, if options.dry_run { "cannot be" } else { "were not" });
        Err(invalid(
            "FILE",
            format!(
                "has lines that {verb} imported: {bad} are wrong, {} are in conflict with a user who is \
                 here. Correct them, and run the same command again: what was imported stays",
                self.conflicting
            ),
        ))
    }
}
