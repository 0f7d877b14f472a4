//! Converts between Python values and JSON values.

use crate::failure::{Failure, invalid};
use crate::fields::USER_ID;
use crate::generated::MADE_OF_FIELDS;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use seconder::Error;
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::time::Duration;

/// The parameters of a call, by their names in Python.
pub(crate) type Params = Map<String, Value>;

/// The maximum nesting of lists and dicts. A service reads no deeper nesting.
const DEEPEST: usize = 64;

/// The requirement that an invalid value does not meet, and the innermost field that it is in.
struct Wrong {
    field: Option<String>,
    must: Cow<'static, str>,
}

impl<T: Into<Cow<'static, str>>> From<T> for Wrong {
    fn from(must: T) -> Wrong {
        Wrong { field: None, must: must.into() }
    }
}

const NO_TEXT: &str = "be text that UTF-8 can hold";

/// The text of an argument. The error names the argument if it is not text, or cannot be encoded as
/// UTF-8, such as half of a surrogate pair.
pub(crate) fn text<'a>(name: &'static str, given: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    let wrong = |must: &str| invalid(name, must).raise(given.py());
    let text = given.cast::<PyString>().map_err(|_| wrong("be text"))?;
    text.to_str().map_err(|_| wrong(NO_TEXT))
}

/// The bytes of an argument. The error names the argument if it is not bytes.
pub(crate) fn bytes<'a>(name: &'static str, given: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    let given = given.cast::<PyBytes>().map_err(|_| invalid(name, "be bytes").raise(given.py()));
    given.map(|bytes| bytes.as_bytes())
}

/// A number of seconds. An integer too large for a float is read as infinite, so that it is
/// rejected like one.
pub(crate) fn seconds(given: &Bound<'_, PyAny>) -> PyResult<f64> {
    given.extract().or_else(|error: PyErr| {
        match error.is_instance_of::<PyOverflowError>(given.py()) {
            true => Ok(f64::INFINITY),
            false => Err(error),
        }
    })
}

/// A timeout, in seconds: above 0, and at most an hour, as for a call.
pub(crate) fn timeout(seconds: f64) -> Result<Duration, Failure> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() && time <= Duration::from_secs(3600) => Ok(time),
        _ => Err(invalid("timeout", "be a number of seconds above 0, at most 3600")),
    }
}

/// Reads the parameters of a call. The error names the parameter that is invalid.
pub(crate) fn params(given: &Bound<'_, PyDict>) -> PyResult<Params> {
    let mut params = Params::new();
    for (name, value) in given {
        let name: String = name.extract()?;
        // A code is text. In the wrong order of the arguments, what a visitor typed would name the user.
        if name == USER_ID && value.is_instance_of::<PyString>() {
            return Err(invalid(USER_ID, "be a whole number, not text").raise(given.py()));
        }
        let value = from_python(&value, DEEPEST)?.map_err(|Wrong { field, must }| {
            // The fields of other parameters are the application's data.
            let has_fields = MADE_OF_FIELDS.contains(&name.as_str()) || name == "parameters";
            let field = field.filter(|_| has_fields);
            let parameter = field.unwrap_or_else(|| name.clone()).into();
            let reason = format!("must {must}").into();
            Failure::from(Error::InvalidArgument { parameter, reason }).raise(given.py())
        })?;
        params.insert(name, value);
    }
    Ok(params)
}

/// Reads arguments for the record of a call: one that cannot be read is shown as text.
pub(crate) fn shown(given: &Bound<'_, PyDict>) -> PyResult<Params> {
    let arguments = given.iter().map(|(name, value)| {
        let shown = match from_python(&value, DEEPEST) {
            Ok(Ok(shown)) => shown,
            _ => value.str()?.to_string_lossy().into_owned().into(),
        };
        Ok((name.extract()?, shown))
    });
    arguments.collect()
}

/// Returns the value, or the requirement that it does not meet.
fn from_python(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Result<Value, Wrong>> {
    if value.is_none() {
        return Ok(Ok(Value::Null));
    }
    // Before the numbers, because bool is a subclass of int.
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Ok(flag.is_true().into()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_str().map(Value::from);
        return Ok(text.map_err(|_| NO_TEXT.into()));
    }
    if value.is_instance_of::<PyInt>() {
        if let Ok(number) = value.extract::<i64>() {
            return Ok(Ok(number.into()));
        }
        // As `int` writes it: a subclass may write names.
        let digits = value.py().get_type::<PyInt>().call_method1("__repr__", (value,));
        let number = digits.ok().and_then(|digits| digits.extract::<String>().ok()?.parse().ok());
        return Ok(number.map(Value::Number).ok_or("be an integer of fewer digits".into()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        // As it is read again.
        let number = Number::from_f64(number.value()).and_then(|it| it.to_string().parse().ok());
        return Ok(number.map(Value::Number).ok_or("be a finite number".into()));
    }
    if depth == 0 {
        return Ok(Err("not be nested so deep".into()));
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        return fields(mapping, depth);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return items(value, depth);
    }
    let kind = value.get_type().name()?;
    let must = "be made of dicts, lists, text, numbers, True, False and None";
    Ok(Err(format!("{must}, not of {kind}").into()))
}

fn fields(mapping: &Bound<'_, PyMapping>, depth: usize) -> PyResult<Result<Value, Wrong>> {
    let mut fields = Params::new();
    for item in mapping.items()?.iter() {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(name) = name.extract::<String>() else {
            return Ok(Err("have keys that are text".into()));
        };
        match from_python(&value, depth - 1)? {
            Ok(value) => drop(fields.insert(name, value)),
            Err(wrong) => return Ok(Err(Wrong { field: wrong.field.or(Some(name)), ..wrong })),
        }
    }
    Ok(Ok(Value::Object(fields)))
}

fn items(list: &Bound<'_, PyAny>, depth: usize) -> PyResult<Result<Value, Wrong>> {
    let mut items = Vec::new();
    for item in list.try_iter()? {
        match from_python(&item?, depth - 1)? {
            Ok(item) => items.push(item),
            Err(wrong) => return Ok(Err(wrong)),
        }
    }
    Ok(Ok(Value::Array(items)))
}

/// Converts a value to Python: dict, list, str, int, float, bool or None.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Number(number) => number_to_python(py, number)?,
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (name, value) in fields {
                dict.set_item(name, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// An int or a float, if it has all digits of the number; otherwise the number's text.
fn number_to_python<'py>(py: Python<'py>, number: &Number) -> PyResult<Bound<'py, PyAny>> {
    if let Some(number) = number.as_i64() {
        return Ok(PyInt::new(py, number).into_any());
    }
    let text = number.to_string();
    if !text.contains(['.', 'e', 'E']) {
        // Python reads at most 4300 digits by default.
        let whole = py.get_type::<PyInt>().call1((&text,));
        return Ok(whole.unwrap_or_else(|_| PyString::new(py, &text).into_any()));
    }
    let float = number.as_f64().and_then(|float| Some((float, Number::from_f64(float)?)));
    Ok(match float {
        Some((float, shortest)) if digits(&shortest.to_string()) == digits(&text) => {
            PyFloat::new(py, float).into_any()
        }
        _ => PyString::new(py, &text).into_any(),
    })
}

/// The digits of a number from the first to the last that is not 0, without its exponent.
fn digits(number: &str) -> String {
    let fraction = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = fraction.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}
