//! The work of one iteration of a benchmark, from which rates are computed.

use std::collections::BTreeMap;

use minijinja::{Environment, UndefinedBehavior, Value};

use gbench_model::{ParamValue, Params};

pub type Work = BTreeMap<&'static str, WorkAmount>;

#[derive(Clone, Debug, PartialEq)]
pub enum WorkAmount {
    Number(f64),
    Expression(String),
}

impl WorkAmount {
    pub fn of(&self, params: &Params) -> Result<f64, String> {
        let text = match self {
            WorkAmount::Number(amount) => return Ok(*amount),
            WorkAmount::Expression(text) => text,
        };
        let said = |error: minijinja::Error| error.detail().unwrap_or("it cannot be computed").to_owned();
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let expression = environment.compile_expression(text).map_err(said)?;
        let value = expression.eval(as_value(params)).map_err(said)?;
        let number = f64::try_from(value.clone()).ok().filter(|number| number.is_finite() && *number > 0.0);
        number.ok_or_else(|| format!("`{value}` is not a number above 0"))
    }
}

pub(crate) fn as_value(point: &Params) -> Value {
    let pairs = point.iter().map(|(name, value)| {
        let value = match value {
            ParamValue::Bool(value) => Value::from(*value),
            ParamValue::Int(value) => Value::from(*value),
            ParamValue::Float(value) => Value::from(*value),
            ParamValue::Text(value) => Value::from(value.as_str()),
        };
        (name.as_str(), value)
    });
    Value::from_pairs(pairs)
}
