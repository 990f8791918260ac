//! A document for any receiver, signed, so that it knows who sent it and that nothing was changed or sent again later.

use std::time::{SystemTime, UNIX_EPOCH};

use gbench_model::Host;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::api::backoff::ClientLimits;
use crate::api::error::{ApiError, ApiRequest, ApiResult};
use crate::api::response::not_redirected;
use crate::api::sender::Sender;

/// Bytes of a receiver's answer: nothing but a refusal's reason is read.
const ANSWER: usize = 64 << 10;

/// A key that both sides know. It prints as `***`.
#[derive(Clone)]
pub struct WebhookSecret(Vec<u8>);

impl WebhookSecret {
    /// Errors: one that is too short to be a key.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() >= 16 {
            Ok(Self(text.into()))
        } else {
            Err("the secret has less than 16 characters: `openssl rand -hex 32` makes one".into())
        }
    }

    /// `sha256=` and the HMAC in hexadecimal digits of the timestamp in seconds, a point, and the body.
    fn signature(&self, timestamp: u64, body: &[u8]) -> String {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length");
        mac.update(format!("{timestamp}.").as_bytes());
        mac.update(body);
        let digest = mac.finalize().into_bytes();
        digest.iter().fold("sha256=".to_owned(), |text, byte| format!("{text}{byte:02x}"))
    }
}

impl std::fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// The address of a receiver. Only its host is shown: path and query may be a key.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookAddress(reqwest::Url);

impl std::str::FromStr for WebhookAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url = reqwest::Url::parse(text).map_err(|error| format!("it is not a URL: {error}"))?;
        if matches!(url.scheme(), "http" | "https") && url.has_host() {
            Ok(Self(url))
        } else {
            Err("it is not an http address".into())
        }
    }
}

impl std::fmt::Display for WebhookAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.origin().ascii_serialization())
    }
}

impl std::fmt::Debug for WebhookAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// Sends a document in JSON. `event`: the same for the same event, by which a receiver knows a repetition.
///
/// It is sent again after a server error or no answer, and later where the receiver asks for it. A redirect is not followed.
/// Errors: the receiver, with [`gbench_model::Exit::Unpublished`].
pub fn deliver(
    to: &WebhookAddress,
    secret: &WebhookSecret,
    event: &str,
    document: &[u8],
    limits: ClientLimits,
) -> ApiResult<()> {
    let request = ApiRequest { host: Host::Webhook, line: format!("POST {to}") };
    let unreachable = |cause| ApiError::Unreachable { request: request.clone(), cause };
    let sender = Sender::new(limits).map_err(unreachable)?;
    let send = || {
        sender.count()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let message = sender.http.post(to.0.clone());
        let message = message
            .header("content-type", "application/json")
            .header("user-agent", "gbench-ci")
            .header("x-gbench-event-id", event)
            .header("x-gbench-timestamp", now)
            .header("x-gbench-signature-256", secret.signature(now, document));
        Ok(sender.plain(message.body(document.to_vec()), ANSWER))
    };
    let again = |wait: &mut _, cause: &str| sender.wait_for_next(wait, &request, cause);
    let answer = sender.settle(&request, send, Ok, again)?;
    not_redirected(&request, answer).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNATURE: &str = "sha256=e4f8e2ecae2295b2ddb2f0b5584c8275e226c0ebe9b3b819e70156bb67122e3e";

    #[test]
    fn the_signature_is_hmac_sha_256_of_time_and_body() {
        let secret = WebhookSecret::new("0123456789abcdef").unwrap();
        let of = |time, body: &[u8]| secret.signature(time, body);
        // printf '1700000000.{}' | openssl dgst -sha256 -hmac 0123456789abcdef
        assert_eq!(of(1_700_000_000, b"{}"), SIGNATURE);
        assert_ne!(of(1_700_000_001, b"{}"), SIGNATURE);
        assert_ne!(of(1_700_000_000, b"{} "), SIGNATURE);
        assert_eq!(format!("{secret:?}"), "***");
        assert!(WebhookSecret::new("short").is_err());
    }

    #[test]
    fn an_address_shows_its_host_alone() {
        let address: WebhookAddress = "https://me:pass@hooks.example.com/T0/key?token=x".parse().unwrap();
        assert_eq!(format!("{address} {address:?}"), "https://hooks.example.com https://hooks.example.com");
        for wrong in ["", "hooks.example.com", "file:///etc/passwd", "ftp://a/b"] {
            assert!(wrong.parse::<WebhookAddress>().is_err(), "{wrong}");
        }
    }
}
