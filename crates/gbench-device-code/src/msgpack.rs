//! MessagePack, as far as the notes of AMD's code objects use it. No allocation trusts a length that a file merely claims.

#[derive(Debug, PartialEq)]
pub(super) enum Value<'a> {
    Number(u64),
    Text(&'a str),
    List(Vec<Value<'a>>),
    Map(Vec<(Value<'a>, Value<'a>)>),
    /// Nothing that these notes need: a truth, a negative or a broken number.
    Other,
}

/// Deeper values are rejected. Those of the notes have a depth of five.
const DEEPEST: u32 = 16;

impl<'a> Value<'a> {
    /// `None`: the bytes do not begin with a whole value.
    pub(super) fn read(mut bytes: &'a [u8]) -> Option<Self> {
        value(&mut bytes, DEEPEST)
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Value::Map(pairs) = self else { return None };
        pairs.iter().find(|(name, _)| *name == Value::Text(key)).map(|(_, value)| value)
    }

    pub(super) fn number(&self, key: &str) -> Option<u64> {
        if let Some(Value::Number(number)) = self.get(key) { Some(*number) } else { None }
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        if let Some(Value::Text(text)) = self.get(key) { Some(text) } else { None }
    }

    pub(super) fn list(&self, key: &str) -> &[Self] {
        if let Some(Value::List(list)) = self.get(key) { list } else { &[] }
    }
}

fn value<'a>(bytes: &mut &'a [u8], depth: u32) -> Option<Value<'a>> {
    let depth = depth.checked_sub(1)?;
    let first = number(bytes, 1)?;
    Some(match first {
        0x00..=0x7f => Value::Number(first),
        0x80..=0x8f => map(bytes, first & 0xf, depth)?,
        0x90..=0x9f => list(bytes, first & 0xf, depth)?,
        0xa0..=0xbf => text(bytes, first & 0x1f)?,
        0xc0 | 0xc2 | 0xc3 | 0xe0.. => Value::Other,
        0xcc..=0xcf => Value::Number(number(bytes, 1 << (first - 0xcc))?),
        0xca | 0xcb => other(bytes, 4 << (first - 0xca))?,
        0xd0..=0xd3 => other(bytes, 1 << (first - 0xd0))?,
        0xd9..=0xdb => {
            let length = number(bytes, 1 << (first - 0xd9))?;
            text(bytes, length)?
        }
        0xdc | 0xdd => {
            let length = number(bytes, 2 << (first - 0xdc))?;
            list(bytes, length, depth)?
        }
        0xde | 0xdf => {
            let length = number(bytes, 2 << (first - 0xde))?;
            map(bytes, length, depth)?
        }
        _ => return None,
    })
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(taken)
}

/// Big-endian.
fn number(bytes: &mut &[u8], length: u64) -> Option<u64> {
    Some(take(bytes, length)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn other<'a>(bytes: &mut &'a [u8], length: u64) -> Option<Value<'a>> {
    take(bytes, length).map(|_| Value::Other)
}

fn text<'a>(bytes: &mut &'a [u8], length: u64) -> Option<Value<'a>> {
    std::str::from_utf8(take(bytes, length)?).ok().map(Value::Text)
}

fn list<'a>(bytes: &mut &'a [u8], length: u64, depth: u32) -> Option<Value<'a>> {
    (0..length).map(|_| value(bytes, depth)).collect::<Option<_>>().map(Value::List)
}

fn map<'a>(bytes: &mut &'a [u8], length: u64, depth: u32) -> Option<Value<'a>> {
    let mut pair = || Some((value(bytes, depth)?, value(bytes, depth)?));
    (0..length).map(|_| pair()).collect::<Option<_>>().map(Value::Map)
}
