//! Text -> pieces: runs of ASCII letters in lower case, digits, apostrophes and all characters beyond ASCII.

/// Whether a byte belongs to a piece.
const KEPT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let one = byte as u8;
        table[byte] = !one.is_ascii() || one.is_ascii_alphanumeric() || one == b'\'';
        byte += 1;
    }
    table
};

/// Call `each` with every piece of a text, in order; `buffer` holds the text in lower case.
pub fn cut(text: &str, buffer: &mut Vec<u8>, mut each: impl FnMut(&[u8])) {
    buffer.clear();
    buffer.extend_from_slice(text.as_bytes());
    buffer.make_ascii_lowercase();
    for piece in buffer.split(|&byte| !KEPT[usize::from(byte)]) {
        if piece.is_ascii() {
            if !piece.is_empty() {
                each(piece);
            }
        } else {
            cut_at_spaces(piece, &mut each);
        }
    }
}

/// Cut a piece at separators beyond ASCII.
fn cut_at_spaces(piece: &[u8], each: &mut impl FnMut(&[u8])) {
    let (mut start, mut at) = (0, 0);
    while at < piece.len() {
        let width = separator_width(&piece[at..]);
        if width > 0 {
            if at > start {
                each(&piece[start..at]);
            }
            start = at + width;
        }
        at += width.max(1);
    }
    if start < piece.len() {
        each(&piece[start..]);
    }
}

/// Return the bytes of a separator (no-break or zero-width space) that begins here; 0: none does.
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
        cut(text, &mut Vec::new(), |piece| {
            found.push(String::from_utf8(piece.to_vec()).unwrap())
        });
        found
    }

    #[test]
    fn a_text_is_cut_at_separators() {
        assert_eq!(
            pieces("The os.path, a_b: x86-64\0\x02!"),
            ["the", "os", "path", "a", "b", "x86", "64"]
        );
        assert_eq!(
            pieces("no\u{a0}break zero\u{200b}width don't"),
            ["no", "break", "zero", "width", "don't"]
        );
        assert_eq!(pieces("É…à 東京"), ["É…à", "東京"]);
        assert!(pieces(" \u{a0} ").is_empty());
    }
}
