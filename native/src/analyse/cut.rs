//! Text -> pieces: runs of ASCII letters in lower case, digits, apostrophes and all characters beyond ASCII.

const SEPARATOR: u8 = 0;

/// Each byte as it stands in a piece, or SEPARATOR.
const KEPT: [u8; 256] = {
    let mut table = [SEPARATOR; 256];
    let mut byte = 0;
    while byte < 256 {
        let one = byte as u8;
        if !one.is_ascii() || one.is_ascii_alphanumeric() || one == b'\'' {
            table[byte] = one.to_ascii_lowercase();
        }
        byte += 1;
    }
    table
};

/// Call `each` with every piece of a text, in order; `buffer` holds the piece in lower case.
pub fn cut(text: &str, buffer: &mut Vec<u8>, mut each: impl FnMut(&[u8])) {
    let bytes = text.as_bytes();
    let mut at = 0;
    buffer.clear();
    while at < bytes.len() {
        let kept = KEPT[usize::from(bytes[at])];
        let width = if kept.is_ascii() { 1 } else { separator_width(&bytes[at..]) };
        if kept != SEPARATOR && (kept.is_ascii() || width == 0) {
            buffer.push(kept);
            at += 1;
            continue;
        }
        if !buffer.is_empty() {
            each(buffer);
            buffer.clear();
        }
        at += width;
    }
    if !buffer.is_empty() {
        each(buffer);
    }
}

/// Return the bytes of a separator beyond ASCII (no-break and zero-width space) that begins here; 0: none does.
fn separator_width(bytes: &[u8]) -> usize {
    match bytes {
        [0xc2, 0xa0, ..] => 2,
        [0xe2, 0x80, 0x8b, ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        cut(text, &mut Vec::new(), |piece| found.push(String::from_utf8(piece.to_vec()).unwrap()));
        found
    }

    #[test]
    fn a_text_is_cut_at_separators() {
        assert_eq!(pieces("The os.path, a_b: x86-64\0\x02!"), ["the", "os", "path", "a", "b", "x86", "64"]);
        assert_eq!(pieces("no\u{a0}break zero\u{200b}width don't"), ["no", "break", "zero", "width", "don't"]);
        assert_eq!(pieces("É…à 東京"), ["É…à", "東京"]);
        assert!(pieces(" \u{a0} ").is_empty());
    }
}
