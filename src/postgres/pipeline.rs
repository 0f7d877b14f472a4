//! Statements that are sent together and answered together.
//!
//! The statements of one pipeline end in one `Sync`: after an error, the server skips all that
//! follow, so a COMMIT at the end is carried out only if everything before it was.

use super::connect::Connection;
use super::report::{Problem, Report};
use bytes::{BufMut, Bytes, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{DataRowBody, Message};
use postgres_protocol::message::frontend;

/// A statement, which each connection prepares once.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) name: String,
    pub(crate) sql: String,
    /// The types of its parameters.
    pub(crate) params: Vec<List>,
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Ints,
    Texts,
    Blobs,
    /// One value instead of an array.
    Int,
    Text,
    Blob,
}

impl List {
    /// Returns the number of the type in every server.
    fn oid(self) -> u32 {
        match self {
            List::Ints => 1016,
            List::Texts => 1009,
            List::Blobs => 1001,
            List::Int => 20,
            List::Text => 25,
            List::Blob => 17,
        }
    }

    fn of_element(self) -> u32 {
        match self {
            List::Texts | List::Text => 25,
            List::Blobs | List::Blob => 17,
            List::Ints | List::Int => 20,
        }
    }
}

/// The value of a parameter, as the protocol has it.
pub(crate) struct Param(BytesMut);

impl Param {
    pub(crate) fn int(number: i64) -> Param {
        let mut bytes = BytesMut::with_capacity(8);
        bytes.put_i64(number);
        Param(bytes)
    }

    pub(crate) fn bytes(bytes: &[u8]) -> Param {
        Param(bytes.into())
    }

    /// Creates an array, whose elements are written by `write`. An element is null if `write`
    /// returns false.
    pub(crate) fn list<T>(
        kind: List,
        values: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(T, &mut BytesMut) -> bool,
    ) -> Param {
        let mut bytes = BytesMut::with_capacity(20 + 16 * values.len());
        let count = i32::try_from(values.len()).unwrap_or(i32::MAX);
        bytes.put_i32(1);
        bytes.put_i32(0);
        bytes.put_u32(kind.of_element());
        bytes.put_i32(count);
        bytes.put_i32(1);
        let mut has_null = false;
        for value in values {
            let place = bytes.len();
            bytes.put_i32(-1);
            if write(value, &mut bytes) {
                let length = i32::try_from(bytes.len() - place - 4).unwrap_or(i32::MAX);
                bytes[place..place + 4].copy_from_slice(&length.to_be_bytes());
            } else {
                has_null = true;
            }
        }
        bytes[4..8].copy_from_slice(&i32::from(has_null).to_be_bytes());
        Param(bytes)
    }
}

/// The rows that a statement returned.
#[derive(Default)]
pub(crate) struct Returned {
    pub(crate) rows: Vec<Row>,
}

/// A row, whose values are as the protocol has them.
pub(crate) struct Row {
    bytes: Bytes,
    places: Vec<Option<(usize, usize)>>,
}

impl Row {
    fn of(body: &DataRowBody) -> std::io::Result<Row> {
        let bytes = body.buffer_bytes().clone();
        let places = body.ranges().map(|range| Ok(range.map(|range| (range.start, range.end))));
        Ok(Row { bytes, places: places.collect()? })
    }

    /// Returns the values: `None` is null.
    pub(crate) fn values(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.places.iter().map(|place| place.map(|(from, to)| &self.bytes[from..to]))
    }

    /// Returns the first value, as text.
    pub(crate) fn text(&self) -> Option<&str> {
        self.values().next().flatten().and_then(|bytes| std::str::from_utf8(bytes).ok())
    }
}

impl Connection {
    /// Adds a statement to the pipeline.
    pub(crate) fn add(&mut self, statement: &Statement, params: &[Param]) -> Result<(), Problem> {
        if !self.is_prepared(&statement.name) {
            let types = statement.params.iter().map(|kind| kind.oid());
            frontend::parse(&statement.name, &statement.sql, types, &mut self.output)
                .map_err(unsendable)?;
            self.parsing.push(statement.name.clone());
        }
        let write = |param: &Param, buffer: &mut BytesMut| {
            buffer.extend_from_slice(&param.0);
            Ok(IsNull::No)
        };
        // Both parameters and results are binary.
        let bound = frontend::bind("", &statement.name, [1], params, write, [1], &mut self.output);
        bound.map_err(|_| Problem::Lost("a statement could not be written".into()))?;
        frontend::execute("", 0, &mut self.output).map_err(unsendable)?;
        self.sent += 1;
        Ok(())
    }

    /// Drops the statements that were not sent.
    pub(crate) fn forget_pipeline(&mut self) {
        self.output.clear();
        self.parsing.clear();
        self.sent = 0;
    }

    /// Sends the pipeline, and returns the result of each of its statements.
    pub(crate) fn finish(&mut self) -> Result<Vec<Returned>, Problem> {
        frontend::sync(&mut self.output);
        let parsing = std::mem::take(&mut self.parsing);
        let count = std::mem::take(&mut self.sent);
        self.send()?;
        let mut parsed = parsing.into_iter();
        let mut answers = Vec::with_capacity(count);
        let mut current = Returned::default();
        let mut failed = None;
        loop {
            match self.receive()? {
                Message::ParseComplete => {
                    if let Some(name) = parsed.next() {
                        self.note_prepared(name);
                    }
                }
                Message::DataRow(body) => {
                    let row = Row::of(&body).map_err(|error| self.broken(&error))?;
                    current.rows.push(row);
                }
                Message::CommandComplete(_) | Message::EmptyQueryResponse => {
                    answers.push(std::mem::take(&mut current));
                }
                Message::ErrorResponse(body) => {
                    let report = Report::of(&body);
                    if report.is_fatal {
                        return Err(self.ended(&report));
                    }
                    failed = Some(report);
                }
                Message::ReadyForQuery(_) => break,
                _ => {}
            }
        }
        match failed {
            // A statement that this side takes for prepared is not.
            Some(report) if report.is(&["26000", "42P05", "0A000"]) => Err(self.ended(&report)),
            Some(report) => Err(Problem::Rejected(report)),
            None if answers.len() == count => Ok(answers),
            None => Err(self.broken(&"answers are missing")),
        }
    }

    /// Executes statements without parameters, whose results are texts. They may be several.
    pub(crate) fn simple(&mut self, sql: &str) -> Result<Vec<Returned>, Problem> {
        frontend::query(sql, &mut self.output).map_err(unsendable)?;
        self.send()?;
        let mut answers = Vec::new();
        let mut current = Returned::default();
        let mut failed = None;
        loop {
            match self.receive()? {
                Message::DataRow(body) => {
                    let row = Row::of(&body).map_err(|error| self.broken(&error))?;
                    current.rows.push(row);
                }
                Message::CommandComplete(_) => answers.push(std::mem::take(&mut current)),
                Message::ErrorResponse(body) => {
                    let report = Report::of(&body);
                    if report.is_fatal {
                        return Err(self.ended(&report));
                    }
                    failed = Some(report);
                }
                Message::ReadyForQuery(_) => break,
                _ => {}
            }
        }
        failed.map_or(Ok(answers), |report| Err(Problem::Rejected(report)))
    }
}

fn unsendable(_: std::io::Error) -> Problem {
    Problem::Lost("a statement could not be written".into())
}
