//! The lines of a file: of JSON, or of CSV. A line that cannot be read is reported, and the next one is
//! read.

use super::format::Format;
use super::repeated;
use super::text::of_column;
use crate::invalid;
use csv::{ByteRecord, ReaderBuilder, Terminator};
use seconder::engine::{Problem, SourceFormat, SourceLine, SourceOptions, UserRecord};
use seconder::{Error, Result};
use serde_json::{Map, Value};
use std::io::{self, BufRead, BufReader, Read};
use zeroize::Zeroizing;

/// The most bytes of a line. A quote that is not closed must not fill the memory.
const LONGEST: u64 = 1024 * 1024;
/// The most bytes of a file of another program, which is read at once.
const LARGEST: u64 = 64 * 1024 * 1024;
const TOO_LONG: &str = "is longer than 1 MiB";
/// The number of bytes that are read at once.
const BUFFER: usize = 256 * 1024;

pub(super) type Parsed = std::result::Result<Map<String, Value>, Problem>;

/// The lines of a file, with their numbers.
pub(super) struct Lines<R> {
    source: Source<R>,
    ignored: Vec<String>,
}

enum Source<R> {
    Jsonl {
        from: BufReader<R>,
        line: u64,
        bytes: u64,
    },
    Csv {
        from: Box<csv::Reader<Bounded<R>>>,
        columns: Vec<String>,
    },
    /// All of a file of another program.
    Read(std::vec::IntoIter<SourceLine>),
}

impl<R: Read> Lines<R> {
    /// # Errors
    /// [`Error::InvalidArgument`] if the first row of a CSV file does not have the names of fields.
    pub(super) fn new(from: R, format: Format, ignored: &[String]) -> Result<Lines<R>> {
        let source = match format {
            Format::Jsonl => {
                let from = BufReader::with_capacity(BUFFER, from);
                Source::Jsonl { from, line: 0, bytes: 0 }
            }
            Format::Csv => {
                let from = Bounded { from, read: 0, end: LONGEST };
                let mut reader = ReaderBuilder::new();
                // A carriage return before the end of a row is trimmed: with both as the end, the reader
                // counts lines from one to the other.
                let reader = reader.terminator(Terminator::Any(b'\n')).has_headers(false);
                let reader = reader.flexible(true).buffer_capacity(BUFFER);
                let mut from = Box::new(reader.from_reader(from));
                let columns = columns(&mut from, ignored)?;
                Source::Csv { from, columns }
            }
        };
        Ok(Lines { source, ignored: ignored.to_vec() })
    }

    /// Reads all of a file of another program.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it is not of this format.
    pub(super) fn of_source(
        from: R,
        format: SourceFormat,
        options: &SourceOptions,
        ignored: &[String],
    ) -> Result<Lines<R>> {
        let mut file = Zeroizing::new(Vec::new());
        from.take(LARGEST + 1).read_to_end(&mut file).map_err(cannot_read)?;
        if file.len() as u64 > LARGEST {
            return Err(invalid("FILE", "is larger than 64 MiB: divide it".to_owned()));
        }
        let lines = format.read(&file, options)?;
        Ok(Lines { source: Source::Read(lines.into_iter()), ignored: ignored.to_vec() })
    }

    /// Returns the number of bytes that were read.
    pub(super) fn bytes(&self) -> u64 {
        match &self.source {
            Source::Jsonl { bytes, .. } => *bytes,
            Source::Csv { from, .. } => from.position().byte(),
            Source::Read(_) => 0,
        }
    }

    /// Reads the next line with its number; `None` at the end.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the file cannot be read on.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Parsed)>> {
        let next = match &mut self.source {
            Source::Jsonl { from, line, bytes } => jsonl(from, line, bytes).map_err(cannot_read)?,
            Source::Csv { from, columns } => row(from, columns)?,
            Source::Read(lines) => lines.next(),
        };
        Ok(next.map(|(line, fields)| (line, fields.map(|fields| self.without_ignored(fields)))))
    }

    fn without_ignored(&self, mut fields: Map<String, Value>) -> Map<String, Value> {
        self.ignored.iter().for_each(|name| drop(fields.remove(name)));
        fields
    }
}

fn cannot_read(error: io::Error) -> Error {
    invalid("FILE", format!("cannot be read on: {error}"))
}

fn jsonl(
    from: &mut impl BufRead,
    line: &mut u64,
    bytes: &mut u64,
) -> io::Result<Option<(u64, Parsed)>> {
    let mut text = Vec::new();
    loop {
        text.clear();
        let count = from.by_ref().take(LONGEST).read_until(b'\n', &mut text)? as u64;
        if count == 0 {
            return Ok(None);
        }
        *line += 1;
        *bytes += count;
        if count == LONGEST && text.last() != Some(&b'\n') {
            *bytes += skip_line(from)?;
            return Ok(Some((*line, Err(Problem::new("", TOO_LONG)))));
        }
        let bare = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text).trim_ascii();
        if !bare.is_empty() {
            return Ok(Some((*line, object(bare))));
        }
    }
}

fn skip_line(from: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = from.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n').map(|place| place + 1);
        let (count, is_over) = (end.unwrap_or(buffer.len()), end.is_some() || buffer.is_empty());
        from.consume(count);
        skipped += count as u64;
        if is_over {
            return Ok(skipped);
        }
    }
}

fn object(text: &[u8]) -> Parsed {
    match repeated::name(text) {
        Some(name) if known(&name) => return Err(Problem::new(&name, "is there twice")),
        Some(_) => return Err(Problem::new("", "has a field twice")),
        None => {}
    }
    // The parser's own message may repeat the contents of the line.
    serde_json::from_slice(text).map_err(|error| {
        Problem::new("", format!("is not a JSON object in UTF-8: see column {}", error.column()))
    })
}

fn known(name: &str) -> bool {
    UserRecord::FIELDS.contains(&name) || UserRecord::OTHER_FIELDS.contains(&name)
}

/// Reads the names in the first row.
fn columns<R: Read>(from: &mut csv::Reader<Bounded<R>>, ignored: &[String]) -> Result<Vec<String>> {
    let mut record = ByteRecord::new();
    from.read_byte_record(&mut record).map_err(|error| of_csv(&error))?;
    let names = record.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned());
    let columns: Vec<String> = names.collect();
    let is_bad = |(_, name): &(usize, &String)| !known(name) && !ignored.contains(name);
    let unknown: Vec<_> = columns.iter().enumerate().filter(is_bad).map(shown).collect();
    let is_again = |(at, name): &(usize, &String)| columns[..*at].contains(name);
    let again: Vec<_> = columns.iter().enumerate().filter(is_again).map(shown).collect();
    let mut wrong = Vec::new();
    if !unknown.is_empty() {
        let all = [&UserRecord::FIELDS[..], &UserRecord::OTHER_FIELDS].concat().join(", ");
        let unknown = unknown.join(", ");
        wrong.push(format!(
            "has in its first row what is no field: {unknown}. The fields are {all}; --ignore leaves a \
             column out"
        ));
    }
    if !again.is_empty() {
        wrong.push(format!("has columns twice: {}", again.join(", ")));
    }
    if !["phone", "email", "login"].iter().any(|name| columns.iter().any(|c| c == name)) {
        wrong.push(
            "lacks the columns phone, email and login, one of which identifies users".to_owned(),
        );
    }
    match wrong.is_empty() {
        true => Ok(columns),
        false => Err(invalid("FILE", wrong.join("; and it "))),
    }
}

/// Returns the name of a column. Without a header, the first row has the number and the secret of a user instead, which
/// have digits or no small letters.
fn shown((at, name): (usize, &String)) -> String {
    let is_part = |byte: u8| byte.is_ascii_alphabetic() || b"_- ".contains(&byte);
    let is_name = name.bytes().all(is_part) && name.bytes().any(|byte| byte.is_ascii_lowercase());
    match is_name && name.len() <= 32 {
        true => format!("{name:?}"),
        false => format!("that of column {}", at + 1),
    }
}

fn row<R: Read>(
    from: &mut csv::Reader<Bounded<R>>,
    columns: &[String],
) -> Result<Option<(u64, Parsed)>> {
    // The bytes that are read ahead belong to the rows that follow.
    let end = from.position().byte().saturating_add(LONGEST + BUFFER as u64);
    from.get_mut().end = end;
    let mut record = ByteRecord::new();
    loop {
        if !from.read_byte_record(&mut record).map_err(|error| of_csv(&error))? {
            return Ok(None);
        }
        if record.iter().any(|value| !value.trim_ascii().is_empty()) {
            break;
        }
    }
    let line = record.position().map_or(0, csv::Position::line);
    if record.len() != columns.len() {
        let (has, needs) = (record.len(), columns.len());
        let reason = format!("has {has} columns, and the first row {needs}");
        return Ok(Some((line, Err(Problem::new("", reason)))));
    }
    let mut fields = Map::new();
    for (name, value) in columns.iter().zip(&record) {
        match std::str::from_utf8(value) {
            Ok(value) => drop(fields.insert(name.clone(), Value::String(of_column(value.trim())))),
            Err(_) => return Ok(Some((line, Err(Problem::new(name, "is not UTF-8"))))),
        }
    }
    Ok(Some((line, Ok(fields))))
}

fn of_csv(error: &csv::Error) -> Error {
    let line = error.position().map_or(0, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            let reason = "has a row that is longer than 1 MiB: is a quote missing? What comes before it was \
                          read";
            invalid("FILE", reason.to_owned())
        }
        csv::ErrorKind::Io(error) => invalid("FILE", format!("cannot be read on: {error}")),
        _ => invalid("FILE", format!("cannot be read as CSV at line {line}")),
    }
}

/// A file that is read only up to an offset that moves on with the rows.
struct Bounded<R> {
    from: R,
    read: u64,
    end: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read >= self.end {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let count = self.from.read(buffer)?;
        self.read += count as u64;
        Ok(count)
    }
}
