//! Canonical URLs of ordinary hrefs, and digests. `urls/canonical.py` resolves all others, and defines the results.

use std::borrow::Cow;
use std::fmt::Write;

use blake2b_simd::many::{HashManyJob, hash_many};

const DIGEST_BYTES: usize = 16;

/// What an href leads to, as far as it needs no URL parser.
#[derive(Debug, PartialEq, Eq)]
pub enum Target {
    Url(String),
    /// No resource that a crawler visits: another scheme.
    Nothing,
    /// Python resolves it.
    Unknown,
}

/// The parts of a base URL (canonical) that hrefs are relative to.
pub struct Base<'a> {
    url: &'a str,
    path: &'a str,     // the URL without its query
    path_start: usize, // of the first "/" behind the authority
}

impl<'a> Base<'a> {
    /// Take a canonical URL apart; None: it is not one.
    pub fn new(url: &'a str) -> Option<Self> {
        let path = url.split('?').next()?;
        let authority = path.find("://")? + 3;
        let path_start = authority + path[authority..].find('/')?;
        Some(Self { url, path, path_start })
    }

    /// Resolve an href without its fragment, which does not end in a blank.
    pub fn resolve(&self, href: &str) -> Target {
        if href.is_empty() {
            return Target::Url(self.url.to_owned());
        }
        match scheme(href) {
            Some(scheme) if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") => {
                resolve_absolute(href)
            }
            Some(_) => Target::Nothing,
            None => self.resolve_relative(href),
        }
    }

    fn resolve_relative(&self, href: &str) -> Target {
        let joined = |start: &str, rest: &str| [start, rest].concat();
        if href.contains(':') {
            Target::Unknown
        } else if href.starts_with('?') {
            if is_simple_path_and_query(href) {
                Target::Url(joined(self.path, href))
            } else {
                Target::Unknown
            }
        } else if let Some(path) = href.strip_prefix('/') {
            let is_simple = !path.starts_with('/') && is_simple_path_and_query(path);
            if is_simple {
                Target::Url(joined(&self.url[..self.path_start], href))
            } else {
                Target::Unknown
            }
        } else {
            self.resolve_in_directory(href)
        }
    }

    /// Resolve `page.html`, `./page.html`, `../folder/page.html?query`.
    fn resolve_in_directory(&self, href: &str) -> Target {
        let mut rest = href.strip_prefix("./").unwrap_or(href);
        let mut end = self.path.rfind('/').unwrap_or(self.path_start);
        while let Some(further) = rest.strip_prefix("../") {
            rest = further;
            if end > self.path_start {
                end = self.path[..end].rfind('/').unwrap_or(self.path_start);
            }
        }
        // An empty segment at the start would be lost at the root, where browsers keep it.
        if rest.starts_with(['/', '?']) || !is_simple_path_and_query(rest) {
            return Target::Unknown;
        }
        Target::Url([&self.path[..=end], rest].concat())
    }
}

/// Return the scheme of an href.
fn scheme(href: &str) -> Option<&str> {
    let colon = href.find(':')?;
    let scheme = &href[..colon];
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'));
    is_scheme.then_some(scheme)
}

/// Resolve `http://example.org/path?query` whose spelling is canonical, but for an empty path.
fn resolve_absolute(href: &str) -> Target {
    let (rest, default_port) = match (href.strip_prefix("http://"), href.strip_prefix("https://")) {
        (Some(rest), _) => (rest, "80"),
        (_, Some(rest)) => (rest, "443"),
        _ => return Target::Unknown,
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (host, port) = authority.split_once(':').unwrap_or((authority, "1"));
    let is_simple_port = port.len() <= 4 && !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
    if !is_simple_host(host) || !is_simple_port || port.is_empty() || port == default_port {
        return Target::Unknown;
    }
    match path.strip_prefix('/') {
        Some(inner) if is_simple_path_and_query(inner) => Target::Url(href.to_owned()),
        None if path.is_empty() => Target::Url([href, "/"].concat()),
        _ => Target::Unknown,
    }
}

/// Return whether a host is a plain name in lower case: no address, no punycode.
fn is_simple_host(host: &str) -> bool {
    let is_simple_label = |label: &str| {
        label.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
            && !label.starts_with("xn--")
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    let last = host.rsplit('.').next().unwrap_or("");
    last.starts_with(|first: char| first.is_ascii_lowercase()) && host.split('.').all(is_simple_label)
}

/// Return whether a URL parser would leave the path and query as they are: nothing to encode, no dot segments.
fn is_simple_path_and_query(text: &str) -> bool {
    let mut is_segment_start = true;
    let mut in_query = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => (),
            b'~' | b'!' | b'$' | b'&' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' => (),
            b'.' if is_segment_start && !in_query => return false,
            b'.' | b'/' => (),
            b'%' if !in_query
                && text[at + 1..]
                    .get(..2)
                    .is_some_and(|escape| escape.eq_ignore_ascii_case("2e")) =>
            {
                return false;
            }
            b'%' => (),
            b'?' => in_query = true,
            _ => return false,
        }
        is_segment_start = byte == b'/';
    }
    true
}

pub type Digest = [u8; DIGEST_BYTES];

/// Return the digests of canonical URLs; `has_rules`: rules of queries apply. None: Python applies them.
pub fn digests(urls: &[String], has_rules: bool) -> Vec<Option<Digest>> {
    let needs_rules = |url: &str| has_rules && url.contains(['?', ';']);
    let keys: Vec<Cow<'_, str>> = urls.iter().map(|url| key(url)).collect();
    let mut params = blake2b_simd::Params::new();
    params.hash_length(DIGEST_BYTES);
    let mut jobs: Vec<_> = keys
        .iter()
        .map(|key| HashManyJob::new(&params, key.as_bytes()))
        .collect();
    hash_many(&mut jobs);
    let digest = |(url, job): (&String, &HashManyJob<'_>)| match needs_rules(url) {
        true => None,
        false => job.to_hash().as_bytes().try_into().ok(),
    };
    urls.iter().zip(&jobs).map(digest).collect()
}

/// Return the text that all spellings of a canonical URL share.
fn key(url: &str) -> Cow<'_, str> {
    if url.contains('%') {
        Cow::Owned(normalize_escapes(url))
    } else {
        Cow::Borrowed(url)
    }
}

/// Return a URL with one spelling of each escape (`url_key`).
fn normalize_escapes(url: &str) -> String {
    let mut key = String::with_capacity(url.len() + 8);
    let mut pieces = url.split('%');
    key.push_str(pieces.next().unwrap_or(""));
    for piece in pieces {
        match piece
            .get(..2)
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
        {
            Some(digits) => {
                let octet = u8::from_str_radix(digits, 16).unwrap_or(0);
                if octet.is_ascii_alphanumeric() || b"-._~[]|".contains(&octet) {
                    key.push(octet as char);
                } else {
                    let _ = write!(key, "%{octet:02X}"); // writing to a string cannot fail
                }
                key.push_str(&piece[2..]);
            }
            None => {
                key.push_str("%25");
                key.push_str(piece);
            }
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(href: &str) -> Option<String> {
        match Base::new("http://h.org/a/b/c.html?q=1").unwrap().resolve(href) {
            Target::Url(url) => Some(url),
            Target::Nothing => Some(String::new()),
            Target::Unknown => None,
        }
    }

    #[test]
    fn ordinary_hrefs() {
        for (href, url) in [
            ("", "http://h.org/a/b/c.html?q=1"),
            ("x.html", "http://h.org/a/b/x.html"),
            ("./x/", "http://h.org/a/b/x/"),
            ("../x", "http://h.org/a/x"),
            ("../../../../x", "http://h.org/x"),
            ("../", "http://h.org/a/"),
            ("/x?y=%2e", "http://h.org/x?y=%2e"),
            ("?y", "http://h.org/a/b/c.html?y"),
            ("https://example.org", "https://example.org/"),
            ("http://example.org:8080/a", "http://example.org:8080/a"),
            ("mailto:me", ""),
            ("JavaScript:void(0)", ""),
        ] {
            assert_eq!(resolve(href).as_deref(), Some(url), "{href}");
        }
    }

    #[test]
    fn python_resolves_the_others() {
        for href in [
            "//x",
            "x y",
            "a/../b",
            "..",
            "http:x",
            "http://EXAMPLE.org/",
            "http://1.2.3.4/",
            "http://a.b:80/",
            "ä",
            "x\\y",
            "http://a@b/",
            "http://a/%2E%2e/",
            "/.x",
            "http://xn--a/",
            "http://a..b/",
            "http://a?b",
            "x'y",
            "1:2",
            "../?q",
        ] {
            assert_eq!(resolve(href), None, "{href}");
        }
    }

    #[test]
    fn keys_have_one_spelling_of_escapes() {
        assert_eq!(
            normalize_escapes("a%7e%2f%%341%5b%"),
            "a~%2F%25%341[%25".replace("%341", "41")
        );
        let urls = ["http://a/?b", "http://a/b"].map(String::from);
        assert_eq!(
            digests(&urls, true).iter().map(Option::is_some).collect::<Vec<_>>(),
            [false, true]
        );
    }
}
