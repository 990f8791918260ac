//! The answer of a server, and how it is read.

use http::HeaderMap;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::error::{ApiError, ApiRequest, ApiResult};

#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn is_redirect(&self) -> bool {
        matches!(self.status, 300..=399)
    }
}

/// How one try ended; all but the first are why there is no whole answer.
pub(crate) enum Attempt {
    Answered(Response),
    /// Nothing, or half of something: it may have been done all the same.
    Silent(String),
    /// More than these bytes; the next time it would be as much.
    TooLong(usize),
}

/// Errors: the answer is that it lies elsewhere, as for a repository that got another name. It is not gone after: the
/// token would go along, and what is written would go to another place than asked.
pub(crate) fn not_redirected(request: &ApiRequest, answer: Response) -> ApiResult<Response> {
    if !answer.is_redirect() {
        return Ok(answer);
    }
    let (request, status, message) = (request.clone(), answer.status, message_of(&answer));
    Err(ApiError::Refused { request, status, message, wanted: None })
}

/// The host's own words, with the fields it complains about.
pub(crate) fn message_of(answer: &Response) -> String {
    let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    // GitLab: an object of fields, or the two members of OAuth.
    let words = ["message", "error_description", "error"].map(|name| &value[name]);
    let mut message = match words.into_iter().find(|word| !word.is_null()) {
        None => "without a message".to_owned(),
        Some(word) => word.as_str().map_or_else(|| word.to_string(), str::to_owned),
    };
    for error in value["errors"].as_array().into_iter().flatten().take(3) {
        let words = error.as_str().or(error["message"].as_str()).map(str::to_owned);
        message += &format!("; {}", words.unwrap_or_else(|| error.to_string()));
    }
    message.chars().take(600).collect()
}

pub(crate) fn parsed<T: DeserializeOwned>(request: &ApiRequest, answer: &Response) -> ApiResult<T> {
    let body = if answer.body.is_empty() { b"null" } else { answer.body.as_slice() };
    serde_json::from_slice(body)
        .map_err(|error| ApiError::Unreadable { request: request.clone(), cause: error.to_string() })
}

pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

pub(crate) fn too_long(request: &ApiRequest, most: usize) -> ApiError {
    ApiError::Unfit { request: request.clone(), cause: format!("it is longer than {most} bytes") }
}

pub(crate) async fn limited<B>(body: B, most: usize) -> Result<Vec<u8>, Attempt>
where
    B: http_body::Body,
    B::Data: AsRef<[u8]>,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let mut bytes = Vec::new();
    let mut body = std::pin::pin!(body);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Attempt::Silent(root_cause(&error)))?;
        if let Some(data) = frame.data_ref() {
            bytes.extend_from_slice(data.as_ref());
            if bytes.len() > most {
                return Err(Attempt::TooLong(most));
            }
        }
    }
    Ok(bytes)
}

/// The innermost reason: the outer ones say "error sending request".
pub(crate) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.last().map_or_else(String::new, ToString::to_string)
}
