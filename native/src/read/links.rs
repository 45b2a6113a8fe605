//! The links of a page as bonds: one row per (target, kind, follow, anchor), which counts its occurrences (links.py).

use std::collections::HashMap;

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
pub struct FoundLinks {
    pub links: Vec<FoundLink>,
    hrefs: Vec<String>, // distinct, without their fragments
    numbers: HashMap<String, u32>,
    texts: String,
}

impl FoundLinks {
    /// Return the number of an href.
    pub fn href_number(&mut self, href: &str) -> u32 {
        let plain = href.split('#').next().unwrap_or("");
        let plain = if plain.bytes().last().is_some_and(|last| last <= b' ') {
            href
        } else {
            plain
        };
        if let Some(number) = self.numbers.get(plain) {
            return *number;
        }
        let number = self.hrefs.len() as u32;
        self.hrefs.push(plain.to_owned());
        self.numbers.insert(plain.to_owned(), number);
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

    fn text(&self, piece: Piece) -> &str {
        &self.texts[piece.start as usize..piece.end as usize]
    }

    /// Resolve all hrefs that need no URL parser.
    pub fn resolve(&self, base: &str) -> Vec<Target> {
        let Some(base) = Base::new(base) else {
            return self.hrefs.iter().map(|_| Target::Unknown).collect();
        };
        let ends_in_blank = |href: &str| href.bytes().last().is_some_and(|last| last <= b' ') || href.contains('#');
        let resolve = |href: &String| {
            if ends_in_blank(href) {
                Target::Unknown
            } else {
                base.resolve(href)
            }
        };
        self.hrefs.iter().map(resolve).collect()
    }

    pub fn href(&self, number: usize) -> &str {
        &self.hrefs[number]
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

/// Merge the links into rows; `urls` has the index of the URL of each href, None for hrefs without one.
pub fn merge<'a>(found: &'a FoundLinks, urls: &[Option<u32>], merging: Merging) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::with_capacity(found.links.len());
    let mut numbers: HashMap<(u32, u8, bool, &str), usize> = HashMap::with_capacity(found.links.len());
    for link in &found.links {
        let Some(url) = urls[link.href as usize] else { continue };
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

    fn two_links() -> FoundLinks {
        let mut found = FoundLinks::default();
        for (href, kind, rel) in [
            ("a", HYPERLINK, ""),
            ("a#x", IMAGE, ""),
            ("a", HYPERLINK, "nofollow"),
            ("a", HYPERLINK, ""),
        ] {
            let (href, rel) = (found.href_number(href), found.keep(rel));
            found.links.push(FoundLink {
                href,
                kind,
                position: 0,
                anchor: Piece::default(),
                rel,
            });
        }
        found
    }

    #[test]
    fn equal_links_become_one_row() {
        let found = two_links();
        let all = merge(
            &found,
            &[Some(0)],
            Merging {
                nofollow: false,
                keep_all: true,
            },
        );
        assert_eq!(all.iter().map(|row| row.weight).collect::<Vec<_>>(), [2, 1, 1]);
        let unfollowed = merge(
            &found,
            &[Some(0)],
            Merging {
                nofollow: true,
                keep_all: true,
            },
        );
        assert_eq!(unfollowed.iter().map(|row| row.weight).collect::<Vec<_>>(), [3, 1]);
        let targets = merge(
            &found,
            &[Some(0)],
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
