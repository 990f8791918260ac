//! An answer that breaks off.

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// A body that promises a byte more than it has, and then breaks off.
pub struct Torn {
    left: Option<Bytes>,
}

impl Torn {
    pub fn new(sent: Vec<u8>) -> Self {
        Self { left: Some(sent.into()) }
    }
}

impl Body for Torn {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<std::io::Result<Frame<Bytes>>>> {
        std::task::Poll::Ready(Some(match self.left.take() {
            Some(bytes) => Ok(Frame::data(bytes)),
            None => Err(std::io::Error::other("torn")),
        }))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.as_ref().map_or(1, |bytes| bytes.len() as u64 + 1))
    }
}
