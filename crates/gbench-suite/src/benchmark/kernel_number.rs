//! A number of `[benchmark.cuda]`: fixed, or an expression over the parameters.

use std::fmt;
use std::ops::RangeInclusive;

use minijinja::{Environment, Error, ErrorKind, Expression, UndefinedBehavior, Value};
use serde::{Serialize, Serializer};

use super::work::as_value;
use gbench_model::Params;

pub(crate) const CEIL_DIV: &str = "ceil_div";

#[derive(Clone, Debug, PartialEq)]
pub enum KernelNumber {
    Number(f64),
    Expression(String),
}

impl KernelNumber {
    pub fn of(&self, params: &Params) -> Result<f64, String> {
        match self {
            KernelNumber::Number(number) => Ok(*number),
            KernelNumber::Expression(text) => {
                let environment = environment();
                let compiled = environment.compile_expression(text).map_err(|error| cause(&error))?;
                evaluated(&compiled, params)
            }
        }
    }

    /// Errors: those of [`Self::of`], or the result is not an integer in the range.
    pub fn whole(&self, params: &Params, range: &RangeInclusive<u64>) -> Result<u64, String> {
        whole(self.of(params)?, range)
    }
}

impl fmt::Display for KernelNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelNumber::Number(number) => number.fmt(f),
            KernelNumber::Expression(text) => f.write_str(text),
        }
    }
}

impl Serialize for KernelNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // 256 and not 256.0, as in the file.
            KernelNumber::Number(number) if number.fract() == 0.0 && number.abs() < EXACT => {
                serializer.serialize_i64(*number as i64)
            }
            KernelNumber::Number(number) => serializer.serialize_f64(*number),
            KernelNumber::Expression(text) => serializer.serialize_str(text),
        }
    }
}

pub(super) const EXACT: f64 = (1_u64 << 53) as f64;

pub(crate) fn whole(number: f64, range: &RangeInclusive<u64>) -> Result<u64, String> {
    if number.fract() != 0.0 {
        return Err(format!("{number} is not a whole number: `//` rounds down, `ceil_div(a, b)` rounds up"));
    }
    // Saturates, so that a negative number is outside of every range.
    let whole = if number < 0.0 { None } else { Some(number as u64) };
    whole
        .filter(|whole| range.contains(whole))
        .ok_or_else(|| format!("{number} is not from {} to {}", range.start(), range.end()))
}

pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_function(CEIL_DIV, ceil_div);
    environment
}

pub(crate) fn evaluated(expression: &Expression<'_, '_>, params: &Params) -> Result<f64, String> {
    let value = expression.eval(as_value(params)).map_err(|error| cause(&error))?;
    let number = f64::try_from(value.clone()).ok().filter(|number| number.is_finite());
    // `true` would pass for 1.
    let is_number = value.is_number();
    number.filter(|_| is_number).ok_or_else(|| format!("`{value}` is not a number"))
}

pub(crate) fn cause(error: &Error) -> String {
    error.detail().unwrap_or("it cannot be computed").to_owned()
}

fn ceil_div(all: i64, part: i64) -> Result<Value, Error> {
    if part <= 0 || all < 0 {
        let what = format!("`ceil_div({all}, {part})`: the first number is at least 0, the second above 0");
        return Err(Error::new(ErrorKind::InvalidOperation, what));
    }
    Ok(Value::from(all / part + i64::from(all % part > 0)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use case_files::Given;
    use gbench_model::ParamValue;

    /// Input: an expression over `n`, which is 1000, with a result from 1 to 4096.
    pub(crate) fn answer(given: &Given) -> String {
        let params = Params::from([("n".to_owned(), ParamValue::Int(1000))]);
        let number = KernelNumber::Expression(given.text()).whole(&params, &(1..=4096));
        number.map_or_else(|why| why, |number| number.to_string())
    }

    #[test]
    fn numbers_are_shown_as_they_are_written() {
        let json = |number| serde_json::to_string(&number).unwrap();
        assert_eq!(json(KernelNumber::Number(256.0)), "256");
        assert_eq!(json(KernelNumber::Number(1.5)), "1.5");
        assert_eq!(json(KernelNumber::Expression("n".into())), "\"n\"");
        assert_eq!(KernelNumber::Number(256.0).to_string(), "256");
    }
}
