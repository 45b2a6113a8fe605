//! The document type, which decides whether a table ends a paragraph (WHATWG HTML §13.2.6.4.1).

/// How a page treats a table in a paragraph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doctype {
    Standard, // the table ends the paragraph
    Quirks,   // it does not; pages without a document type
    Unknown,
}

impl Doctype {
    /// Return the type of what follows `<!doctype`, if it is one that many pages have.
    pub fn read(declaration: &[u8]) -> Self {
        let text = String::from_utf8_lossy(declaration).to_ascii_lowercase();
        let Some(rest) = text.trim_ascii().strip_prefix("html") else {
            return Doctype::Unknown;
        };
        if rest.is_empty() {
            return Doctype::Standard;
        }
        if !rest.starts_with(|first: char| first.is_ascii_whitespace()) {
            return Doctype::Unknown;
        }
        let Some((public, rest)) = rest.trim_ascii().strip_prefix("public").and_then(quoted) else {
            return Doctype::Unknown;
        };
        let has_system = match quoted(rest) {
            Some((_, "")) => true,
            None if rest.trim_ascii().is_empty() => false,
            _ => return Doctype::Unknown,
        };
        let is_any = |starts: &[&str]| starts.iter().any(|start| public.starts_with(start));
        if is_any(&[
            "-//w3c//dtd xhtml 1.0 ",
            "-//w3c//dtd xhtml 1.1//",
            "-//w3c//dtd html 4.01//",
        ]) {
            return Doctype::Standard;
        }
        match is_any(&[
            "-//w3c//dtd html 4.01 transitional//",
            "-//w3c//dtd html 4.01 frameset//",
        ]) {
            true if has_system => Doctype::Standard,
            true => Doctype::Quirks,
            false => Doctype::Unknown,
        }
    }
}

/// Return a text in quotes, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_ascii_start();
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    text[1..]
        .split_once(quote)
        .map(|(inside, rest)| (inside, rest.trim_ascii_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_types() {
        for (declaration, doctype) in [
            (" html", Doctype::Standard),
            (" HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\"", Doctype::Standard),
            (
                " HTML PUBLIC '-//W3C//DTD HTML 4.01 Transitional//EN' 'x'",
                Doctype::Standard,
            ),
            (" HTML PUBLIC '-//W3C//DTD HTML 4.01 Transitional//EN'", Doctype::Quirks),
            (
                " html PUBLIC \"-//W3C//DTD XHTML 1.0 Strict//EN\" \"http://x\" ",
                Doctype::Standard,
            ),
            (" html PUBLIC \"-//W3C//DTD HTML 3.2//EN\"", Doctype::Unknown),
            (" html SYSTEM 'x'", Doctype::Unknown),
            (" htmlpublic '-//W3C//DTD HTML 4.01//EN'", Doctype::Unknown),
            ("", Doctype::Unknown),
        ] {
            assert_eq!(Doctype::read(declaration.as_bytes()), doctype, "{declaration}");
        }
    }
}
