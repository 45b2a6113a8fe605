//! The text of a page as runs by field, packed as the store keeps them: msgpack [[field, text], ...].

use super::blanks::Collapsed;

pub const TITLE: u8 = 0;
pub const PARAGRAPH: u8 = 7;
pub const TEXT: u8 = 8;
pub const DESCRIPTION: u8 = 9;

/// Collects the text of blocks; plain text between two headings or paragraphs becomes one run of lines.
pub struct Runs {
    field: u8,
    block: Collapsed,
    lines: String,
    packed: Vec<u8>,
    count: usize,
}

impl Runs {
    pub fn new() -> Self {
        Self {
            field: TEXT,
            block: Collapsed::default(),
            lines: String::new(),
            packed: Vec::new(),
            count: 0,
        }
    }

    pub fn push(&mut self, text: &str) {
        self.block.push(text);
    }

    /// End the current block.
    pub fn end_block(&mut self) {
        let text = self.block.text.trim();
        if !text.is_empty() {
            if self.field == TEXT {
                if !self.lines.is_empty() {
                    self.lines.push('\n');
                }
                self.lines.push_str(text);
            } else {
                if !self.lines.is_empty() {
                    pack_run(&mut self.packed, TEXT, &self.lines);
                    self.count += 1;
                    self.lines.clear();
                }
                pack_run(&mut self.packed, self.field, text);
                self.count += 1;
            }
        }
        self.block.clear();
    }

    /// End the current block; the text behind belongs to this field.
    pub fn start_field(&mut self, field: u8) {
        self.end_block();
        self.field = field;
    }

    /// Return all runs in reading order: title, description, body.
    pub fn finish(mut self, title: &str, description: &str) -> Vec<u8> {
        self.end_block();
        if !self.lines.is_empty() {
            pack_run(&mut self.packed, TEXT, &self.lines);
            self.count += 1;
        }
        let head = [(TITLE, title), (DESCRIPTION, description)];
        let count = self.count + head.iter().filter(|(_, text)| !text.is_empty()).count();
        let mut page = Vec::with_capacity(self.packed.len() + title.len() + description.len() + 16);
        pack_array_header(&mut page, count);
        for (field, text) in head.iter().filter(|(_, text)| !text.is_empty()) {
            pack_run(&mut page, *field, text);
        }
        page.extend_from_slice(&self.packed);
        page
    }
}

fn pack_array_header(packed: &mut Vec<u8>, length: usize) {
    if length < 16 {
        packed.push(0x90 | length as u8);
    } else if length <= usize::from(u16::MAX) {
        packed.push(0xDC);
        packed.extend_from_slice(&(length as u16).to_be_bytes());
    } else {
        packed.push(0xDD);
        packed.extend_from_slice(&(length as u32).to_be_bytes());
    }
}

fn pack_run(packed: &mut Vec<u8>, field: u8, text: &str) {
    packed.extend_from_slice(&[0x92, field]);
    let length = text.len();
    if length < 32 {
        packed.push(0xA0 | length as u8);
    } else if length <= usize::from(u8::MAX) {
        packed.extend_from_slice(&[0xD9, length as u8]);
    } else if length <= usize::from(u16::MAX) {
        packed.push(0xDA);
        packed.extend_from_slice(&(length as u16).to_be_bytes());
    } else {
        packed.push(0xDB);
        packed.extend_from_slice(&(length as u32).to_be_bytes());
    }
    packed.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_becomes_lines_of_one_run() {
        let mut runs = Runs::new();
        runs.push(" a  b");
        runs.end_block();
        runs.push("c");
        runs.start_field(1);
        runs.push("d\n");
        runs.start_field(TEXT);
        assert_eq!(
            runs.finish("t", ""),
            b"\x93\x92\x00\xa1t\x92\x08\xa5a b\nc\x92\x01\xa1d"
        );
    }
}
