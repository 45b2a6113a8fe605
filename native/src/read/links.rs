//! The links of a page as bonds: one row per (target, kind, follow, anchor), which counts its occurrences (links.py).

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::memchr;

use super::urls::{Base, Target};

pub const HYPERLINK: u8 = 1;
pub const FRAME: u8 = 2;
pub const CANONICAL: u8 = 5;
pub const ALTERNATE: u8 = 6;
pub const RELATED: u8 = 7;
pub const IMAGE: u8 = 20;
pub const SCRIPT: u8 = 21;
pub const STYLE: u8 = 22;
pub const MEDIA: u8 = 23;
pub const OTHER: u8 = 24;

const RELATED_RELS: &[&str] = &[
    "next",
    "prev",
    "previous",
    "first",
    "last",
    "start",
    "begin",
    "end",
    "up",
    "top",
    "home",
    "contents",
    "toc",
    "index",
    "chapter",
    "section",
    "subsection",
    "appendix",
    "glossary",
    "help",
    "author",
    "license",
    "copyright",
    "search",
    "bookmark",
    "archives",
    "terms-of-service",
    "privacy-policy",
    "amphtml",
    "shortlink",
];

/// Return what a `<link>` with this normalized rel leads to; None when it names no resource.
pub fn rel_kind(rel: &str) -> Option<u8> {
    let words = || rel.split(' ').filter(|word| !word.is_empty());
    if words().any(|word| word == "stylesheet") {
        return Some(STYLE);
    }
    let named = words().filter_map(|word| match word {
        "canonical" => Some(CANONICAL),
        "alternate" => Some(ALTERNATE),
        _ => RELATED_RELS.contains(&word).then_some(RELATED),
    });
    named.min().or_else(|| {
        words()
            .any(|word| !matches!(word, "dns-prefetch" | "preconnect"))
            .then_some(OTHER)
    })
}

/// A piece of the collected texts.
#[derive(Clone, Copy, Default)]
pub struct Piece {
    start: u32,
    end: u32,
}

/// One occurrence of a link.
pub struct FoundLink {
    pub href: u32, // index of the href
    pub kind: u8,
    pub position: u8,
    pub anchor: Piece,
    pub rel: Piece,
}

/// The links of a page as found, in document order.
#[derive(Default)]
pub struct FoundLinks<'a> {
    pub links: Vec<FoundLink>,
    hrefs: Vec<Cow<'a, str>>, // distinct, without their fragments
    numbers: HashMap<Cow<'a, str>, u32>,
    texts: String,
}

impl<'a> FoundLinks<'a> {
    /// Return the number of an href. In an http URL the first "#" always begins the fragment.
    pub fn href_number(&mut self, mut href: Cow<'a, str>) -> u32 {
        if let Some(end) = memchr(b'#', href.as_bytes())
            && !(end > 0 && href.as_bytes()[end - 1] <= b' ')
        {
            href = match href {
                Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
                Cow::Owned(text) => Cow::Owned(text[..end].to_owned()),
            };
        }
        if let Some(number) = self.numbers.get(&href) {
            return *number;
        }
        let number = self.hrefs.len() as u32;
        self.hrefs.push(href.clone());
        self.numbers.insert(href, number);
        number
    }

    pub fn keep(&mut self, text: &str) -> Piece {
        if text.is_empty() {
            return Piece::default();
        }
        let start = self.texts.len() as u32;
        self.texts.push_str(text);
        Piece {
            start,
            end: self.texts.len() as u32,
        }
    }

    /// Resolve all hrefs that need no URL parser.
    pub fn resolve(self, base: &str) -> ResolvedLinks {
        let parts = Base::new(base);
        let is_left = |href: &str| href.bytes().last().is_some_and(|last| last <= b' ') || href.contains('#');
        let resolve = |href: &Cow<'_, str>| match &parts {
            Some(base) if !is_left(href) => base.resolve(href),
            _ => Target::Unknown,
        };
        let mut resolved = ResolvedLinks {
            links: self.links,
            texts: self.texts,
            unresolved: Vec::new(),
            urls: Vec::with_capacity(self.hrefs.len()),
            url_numbers: Vec::with_capacity(self.hrefs.len()),
            numbers: HashMap::with_capacity(self.hrefs.len()),
        };
        for (number, href) in self.hrefs.iter().enumerate() {
            match resolve(href) {
                Target::Url(url) => resolved.add_url(Some(url)),
                Target::Nothing => resolved.add_url(None),
                Target::Unknown => {
                    resolved.unresolved.push((number, href.to_string()));
                    resolved.add_url(None);
                }
            }
        }
        resolved
    }
}

/// The links of a page, and what their hrefs lead to.
pub struct ResolvedLinks {
    links: Vec<FoundLink>,
    texts: String,
    pub unresolved: Vec<(usize, String)>, // hrefs that Python resolves, with their numbers
    pub urls: Vec<String>,                // distinct
    url_numbers: Vec<Option<u32>>,        // by href
    numbers: HashMap<String, u32>,        // by URL
}

impl ResolvedLinks {
    fn add_url(&mut self, url: Option<String>) {
        let number = url.map(|url| self.number_url(url));
        self.url_numbers.push(number);
    }

    fn number_url(&mut self, url: String) -> u32 {
        if let Some(number) = self.numbers.get(&url) {
            return *number;
        }
        let number = self.urls.len() as u32;
        self.urls.push(url.clone());
        self.numbers.insert(url, number);
        number
    }

    /// Take the URLs of the hrefs that were not resolved, in their order.
    pub fn complete(&mut self, resolved: Vec<Option<String>>) {
        for ((href, _), url) in std::mem::take(&mut self.unresolved).into_iter().zip(resolved) {
            self.url_numbers[href] = url.map(|url| self.number_url(url));
        }
    }

    /// Return the URL of an href.
    pub fn url(&self, href: u32) -> Option<&str> {
        self.url_numbers[href as usize].map(|number| self.urls[number as usize].as_str())
    }

    fn text(&self, piece: Piece) -> &str {
        &self.texts[piece.start as usize..piece.end as usize]
    }
}

/// One row of the columns.
pub struct Row<'a> {
    pub url: u32, // index of the URL
    pub kind: u8,
    pub follow: bool,
    pub anchor: &'a str,
    pub rel: &'a str,
    pub position: u8,
    pub weight: u32,
}

/// How rows are merged.
#[derive(Clone, Copy)]
pub struct Merging {
    pub nofollow: bool, // the page asks it for all its links
    pub keep_all: bool, // False: one row per target, enough to follow it
}

/// Merge the links that lead somewhere into rows.
pub fn merge(found: &ResolvedLinks, merging: Merging) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::with_capacity(found.links.len());
    let mut numbers: HashMap<(u32, u8, bool, &str), usize> = HashMap::with_capacity(found.links.len());
    for link in &found.links {
        let Some(url) = found.url_numbers[link.href as usize] else {
            continue;
        };
        let (anchor, rel) = (found.text(link.anchor), found.text(link.rel));
        let follow = !merging.nofollow && !rel.split(' ').any(|word| word == "nofollow");
        let next = rows.len();
        let number = *numbers.entry((url, link.kind, follow, anchor)).or_insert(next);
        if number == next {
            rows.push(Row {
                url,
                kind: link.kind,
                follow,
                anchor,
                rel,
                position: link.position,
                weight: 1,
            });
        } else {
            rows[number].weight += 1;
        }
    }
    if merging.keep_all { rows } else { merge_by_target(rows) }
}

/// Keep one row per target, of its strongest bond: followed ones first, then links before embeds.
fn merge_by_target(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let mut merged: Vec<Row<'_>> = Vec::with_capacity(rows.len());
    let mut numbers: HashMap<u32, usize> = HashMap::with_capacity(rows.len());
    for row in rows {
        let next = merged.len();
        let number = *numbers.entry(row.url).or_insert(next);
        if number == next {
            merged.push(Row { anchor: "", ..row });
            continue;
        }
        let kept = &mut merged[number];
        kept.weight += row.weight;
        if (!row.follow, row.kind) < (!kept.follow, kept.kind) {
            (kept.follow, kept.kind) = (row.follow, row.kind);
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_rel() {
        let cases = [
            ("alternate stylesheet", Some(STYLE)),
            ("icon next", Some(RELATED)),
            ("preconnect", None),
            ("", None),
        ];
        for (rel, kind) in cases {
            assert_eq!(rel_kind(rel), kind, "{rel}");
        }
        assert_eq!(rel_kind("preconnect icon"), Some(OTHER));
    }

    fn some_links() -> ResolvedLinks {
        let mut found = FoundLinks::default();
        for (href, kind, rel) in [
            ("a", HYPERLINK, ""),
            ("a#x", IMAGE, ""),
            ("a", HYPERLINK, "nofollow"),
            ("a", HYPERLINK, ""),
        ] {
            let (href, rel) = (found.href_number(Cow::Borrowed(href)), found.keep(rel));
            found.links.push(FoundLink {
                href,
                kind,
                position: 0,
                anchor: Piece::default(),
                rel,
            });
        }
        found.resolve("http://h/")
    }

    #[test]
    fn equal_links_become_one_row() {
        let found = some_links();
        let all = merge(
            &found,
            Merging {
                nofollow: false,
                keep_all: true,
            },
        );
        assert_eq!(all.iter().map(|row| row.weight).collect::<Vec<_>>(), [2, 1, 1]);
        let unfollowed = merge(
            &found,
            Merging {
                nofollow: true,
                keep_all: true,
            },
        );
        assert_eq!(unfollowed.iter().map(|row| row.weight).collect::<Vec<_>>(), [3, 1]);
        let targets = merge(
            &found,
            Merging {
                nofollow: false,
                keep_all: false,
            },
        );
        assert_eq!(
            targets
                .iter()
                .map(|row| (row.weight, row.kind, row.follow))
                .collect::<Vec<_>>(),
            [(4, HYPERLINK, true)]
        );
    }
}
