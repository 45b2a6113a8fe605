//! The part of msgpack that stored texts use: arrays, small numbers and texts.

/// Reads values one after the other; None: another type, or the bytes end.
pub struct Reader<'t> {
    rest: &'t [u8],
}

impl<'t> Reader<'t> {
    pub fn new(packed: &'t [u8]) -> Self {
        Self { rest: packed }
    }

    pub fn bytes_left(&self) -> usize {
        self.rest.len()
    }

    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|one| one[0])
    }

    pub fn array_size(&mut self) -> Option<usize> {
        match self.byte()? {
            head @ 0x90..=0x9f => Some(usize::from(head - 0x90)),
            0xdc => self.size(2),
            0xdd => self.size(4),
            _ => None,
        }
    }

    pub fn text_bytes(&mut self) -> Option<&'t [u8]> {
        let size = match self.byte()? {
            head @ 0xa0..=0xbf => usize::from(head - 0xa0),
            0xd9 => self.size(1)?,
            0xda => self.size(2)?,
            0xdb => self.size(4)?,
            _ => return None,
        };
        self.take(size)
    }

    pub fn text(&mut self) -> Option<&'t str> {
        std::str::from_utf8(self.text_bytes()?).ok()
    }

    fn take(&mut self, size: usize) -> Option<&'t [u8]> {
        let (taken, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        Some(taken)
    }

    /// Read a big-endian size of so many bytes.
    fn size(&mut self, bytes: usize) -> Option<usize> {
        let digits = self.take(bytes)?;
        Some(digits.iter().fold(0, |size, &byte| size << 8 | usize::from(byte)))
    }
}
