//! Conversion of row values to and from the PostgreSQL protocol.

use super::statements::list_of;
use crate::engine::store::table::{Column, Kind, Value};
use crate::postgres::{Param, Row};
use bytes::BufMut;

/// Returns the parameters for rows or keys of these columns, one array for each column.
pub(super) fn arrays(columns: &[Column], rows: &[Vec<Value>]) -> Vec<Param> {
    let column = |(place, column): (usize, &Column)| {
        let values = rows.iter().map(|row| row.get(place));
        Param::list(list_of(column.kind), values, |value, buffer| {
            match value {
                Some(Value::Int(number)) => buffer.put_i64(*number),
                Some(Value::Text(text)) => buffer.put_slice(text.as_bytes()),
                Some(Value::Blob(bytes)) => buffer.put_slice(bytes),
                Some(Value::Null | Value::Secret(_)) | None => return false,
            }
            true
        })
    };
    columns.iter().enumerate().map(column).collect()
}

/// Returns the parameters for one key, each by itself.
pub(super) fn each(values: &[Value]) -> Vec<Param> {
    let param = |value: &Value| match value {
        Value::Int(number) => Param::int(*number),
        Value::Text(text) => Param::bytes(text.as_bytes()),
        Value::Blob(bytes) => Param::bytes(bytes),
        // No key has one.
        Value::Null | Value::Secret(_) => Param::bytes(&[]),
    };
    values.iter().map(param).collect()
}

/// Returns an array of numbers.
pub(super) fn ints(numbers: &[i64]) -> Param {
    Param::list(crate::postgres::List::Ints, numbers.iter(), |number, buffer| {
        buffer.put_i64(*number);
        true
    })
}

/// An array of bytes.
pub(super) fn blobs(values: &[[u8; 16]]) -> Param {
    Param::list(crate::postgres::List::Blobs, values.iter(), |bytes, buffer| {
        buffer.put_slice(bytes);
        true
    })
}

/// Returns the values of a row with these columns, or `None` if they cannot be.
pub(super) fn values_of(row: &Row, columns: &[Column]) -> Option<Vec<Value>> {
    let mut found = row.values();
    let value = |column: &Column| {
        let Some(bytes) = found.next()? else { return Some(Value::Null) };
        Some(match column.kind {
            Kind::Int => Value::Int(i64::from_be_bytes(bytes.try_into().ok()?)),
            Kind::Text => Value::Text(std::str::from_utf8(bytes).ok()?.to_owned()),
            Kind::Blob => Value::Blob(bytes.to_vec()),
        })
    };
    columns.iter().map(value).collect()
}
