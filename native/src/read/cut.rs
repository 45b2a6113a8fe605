//! Finds where markup becomes too expensive for Lexbor: the same offset as `find_cut` of tag_limits.py, which says why.

use std::collections::HashMap;

use memchr::{memchr, memchr_iter, memmem};

use super::tags::Tag;

const MAX_NODES: usize = 500_000;
const MAX_TREE_STEPS: usize = 200_000_000;
const MAX_ATTRIBUTES: usize = 4_096;
const FEW_BYTES: usize = 8 << 10;
const FEW_TAGS: usize = 2_000;
const MANY_TAGS: usize = 30_000;
const MANY_OPTIONS: usize = 8_000;
const LONG_PAGE_BYTES: usize = 128 << 10;
const MAX_REOPENED: usize = 1_500_000;
const REOPEN_STEPS: usize = 500;
const FREE_REOPENED: usize = 16;
const SAME_REOPENED: usize = 3;

const FOREIGN_SCOPES: [&[u8]; 8] = [
    b"foreignobject",
    b"desc",
    b"annotation-xml",
    b"mi",
    b"mo",
    b"mn",
    b"ms",
    b"mtext",
];

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'\x0c' | b'\x0b')
}

fn is_raw_text(tag: Tag) -> bool {
    use Tag::*;
    matches!(
        tag,
        Script | Style | Textarea | Title | Xmp | Iframe | Noembed | Noframes
    )
}

fn is_void(tag: Tag) -> bool {
    tag.is_void() && !matches!(tag, Tag::Basefont | Tag::Bgsound)
}

/// Elements that end the open one of their kind.
fn has_implied_end(tag: Tag) -> bool {
    use Tag::*;
    (tag.has_implied_end() && tag != Optgroup) || matches!(tag, Tr | Td | Th | Tbody | Thead | Tfoot | Colgroup)
}

fn is_reopened(tag: Tag) -> bool {
    tag.is_formatting() && tag != Tag::A
}

fn is_scope(tag: Tag, name: &[u8]) -> bool {
    use Tag::*;
    match tag {
        Other => FOREIGN_SCOPES.iter().any(|scope| name.eq_ignore_ascii_case(scope)),
        Applet | Caption | Html | Table | Td | Th | Marquee | Object | Template | Select | Button => true,
        Svg | Math | Title => true,
        _ => false,
    }
}

fn is_special(tag: Tag, name: &[u8]) -> bool {
    use Tag::*;
    let is_block = tag.is_plain_block()
        || tag.is_heading()
        || matches!(tag, Body | Form | Frameset | Head | Listing | Noscript | Plaintext);
    is_block || is_scope(tag, name)
}

/// Return where the markup becomes too expensive; None: it is affordable as a whole.
pub fn find_cut(html: &[u8]) -> Option<usize> {
    if html.len() <= FEW_BYTES {
        return None;
    }
    let tags = memchr_iter(b'<', html).count();
    if (tags <= FEW_TAGS && html.len() <= LONG_PAGE_BYTES) || !is_suspicious(html, tags) {
        return None;
    }
    TagReader::new(html).find_cut()
}

/// Return whether the markup could be too expensive.
fn is_suspicious(html: &[u8], tags: usize) -> bool {
    tags > MANY_TAGS
        || (tags > FEW_TAGS && count_formatting(html) * tags > MAX_REOPENED)
        || (tags > MANY_OPTIONS && count_options(html) > MANY_OPTIONS)
        || (html.len() > LONG_PAGE_BYTES && has_too_many_attributes(html))
}

/// Count the formatting elements that may have attributes.
fn count_formatting(html: &[u8]) -> usize {
    let is_counted = |at: usize| {
        let rest = &html[at + 1..];
        let length = rest
            .iter()
            .take(7)
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let follows = rest.get(length).is_some_and(|byte| is_blank(*byte) || *byte == b'/');
        follows && is_reopened(Tag::find(&rest[..length]))
    };
    memchr_iter(b'<', html).filter(|at| is_counted(*at)).count()
}

fn count_options(html: &[u8]) -> usize {
    let is_option = |at: usize| {
        html[at + 1..]
            .get(..6)
            .is_some_and(|name| name.eq_ignore_ascii_case(b"option"))
    };
    memchr_iter(b'<', html).filter(|at| is_option(*at)).count()
}

fn has_too_many_attributes(html: &[u8]) -> bool {
    memchr_iter(b'<', html).any(|at| {
        html.get(at + 1).is_some_and(u8::is_ascii_alphabetic)
            && read_attributes(html, name_end(html, at + 1)).count >= MAX_ATTRIBUTES
    })
}

fn name_end(html: &[u8], start: usize) -> usize {
    let rest = &html[start..];
    start
        + rest
            .iter()
            .position(|byte| is_blank(*byte) || matches!(byte, b'/' | b'>'))
            .unwrap_or(rest.len())
}

struct AttributeText {
    end: usize,
    count: usize, // at most the limit: none is counted twice then
}

/// Read attributes as the pattern `_ATTRIBUTE` does, up to the limit.
fn read_attributes(html: &[u8], start: usize) -> AttributeText {
    let mut read = AttributeText { end: start, count: 0 };
    let skip = |mut at: usize, skipped: fn(u8) -> bool| {
        while at < html.len() && skipped(html[at]) {
            at += 1;
        }
        at
    };
    loop {
        let name = skip(read.end, |byte| is_blank(byte) || byte == b'/');
        if name >= html.len() || html[name] == b'>' {
            return read;
        }
        let mut at = skip(name + 1, |byte| !is_blank(byte) && !matches!(byte, b'/' | b'>' | b'='));
        let equals = skip(at, is_blank);
        if html.get(equals) == Some(&b'=') {
            at = skip(equals + 1, is_blank);
            match html.get(at) {
                Some(quote @ (b'"' | b'\'')) => {
                    at = memchr(*quote, &html[at + 1..]).map_or(html.len(), |length| at + length + 2);
                }
                _ => at = skip(at, |byte| !is_blank(byte) && byte != b'>'),
            }
        }
        read.end = at;
        read.count += 1;
    }
}

/// A formatting element that may be opened again: its scope and attributes.
type Reopened<'a> = (usize, &'a [u8]);

/// Reads tag by tag and adds up the work. In doubt an element stays open, so the sum is never too low.
struct TagReader<'a> {
    html: &'a [u8],
    open: Vec<(Tag, &'a [u8])>,
    open_counts: HashMap<Vec<u8>, usize>,
    reopened: HashMap<u8, Vec<Reopened<'a>>>,
    reopened_total: usize,
    scope: usize,
    has_foreign: bool,
    options: usize,
    body_attributes: usize,
    uncertain_until: usize,
    ends: HashMap<u8, usize>, // by raw text element; `CDATA`
    steps: usize,
}

const CDATA: u8 = u8::MAX;

impl<'a> TagReader<'a> {
    fn new(html: &'a [u8]) -> Self {
        Self {
            html,
            open: Vec::new(),
            open_counts: HashMap::new(),
            reopened: HashMap::new(),
            reopened_total: 0,
            scope: 0,
            has_foreign: false,
            options: 0,
            body_attributes: 0,
            uncertain_until: 0,
            ends: HashMap::new(),
            steps: 0,
        }
    }

    /// Return the offset of the first tag that is over the budget.
    fn find_cut(mut self) -> Option<usize> {
        let html = self.html;
        let (mut offset, mut tags) = (0, 0);
        while let Some(found) = memchr(b'<', &html[offset..]) {
            let start = offset + found;
            let rest = &html[start + 1..];
            if matches!(rest.first(), Some(b'!' | b'?')) {
                offset = self.skip_declaration(start);
                continue;
            }
            let is_end = rest.first() == Some(&b'/');
            let name_start = start + 1 + usize::from(is_end);
            if !html.get(name_start).is_some_and(u8::is_ascii_alphabetic) {
                offset = start + 1;
                continue;
            }
            tags += 1;
            let name = &html[name_start..name_end(html, name_start)];
            let tag = Tag::find(name);
            let attributes = read_attributes(html, name_start + name.len());
            offset = self.skip_tag_end(attributes.end);
            if is_end {
                if start >= self.uncertain_until {
                    self.close(tag, name);
                }
            } else if !self.start(
                tag,
                name,
                &html[name_start + name.len()..attributes.end],
                attributes.count,
            ) {
                return Some(start);
            } else if is_raw_text(tag) {
                offset = self.skip_raw_text(tag, name, offset);
            } else if tag == Tag::Plaintext && !self.has_foreign {
                return None;
            }
            self.steps += self.open.len() + self.reopened_total;
            if tags > MAX_NODES || self.steps > MAX_TREE_STEPS {
                return Some(start);
            }
        }
        None
    }

    fn skip_tag_end(&self, mut at: usize) -> usize {
        while at < self.html.len() && (is_blank(self.html[at]) || self.html[at] == b'/') {
            at += 1;
        }
        at + usize::from(self.html.get(at) == Some(&b'>'))
    }

    /// Return the offset behind a comment or declaration.
    fn skip_declaration(&mut self, start: usize) -> usize {
        let html = self.html;
        let rest = &html[start..];
        if let Some(comment) = rest.strip_prefix(b"<!--") {
            let length = if comment.starts_with(b">") {
                1
            } else if comment.starts_with(b"->") {
                2
            } else {
                let is_end = |at: &usize| comment[..*at].ends_with(b"--") || comment[..*at].ends_with(b"--!");
                memchr_iter(b'>', comment)
                    .find(is_end)
                    .map_or(comment.len(), |at| at + 1)
            };
            return start + 4 + length;
        }
        if rest.starts_with(b"<![CDATA[") {
            let end = start + 9;
            if end > self.ends.get(&CDATA).copied().unwrap_or(0) {
                let found = memmem::find(&html[end..], b"]]>").map_or(html.len(), |length| end + length);
                self.ends.insert(CDATA, found);
            }
            self.uncertain_until = self.uncertain_until.max(self.ends[&CDATA]);
            return end;
        }
        start + memchr(b'>', rest).unwrap_or(rest.len())
    }

    /// Return the offset behind raw text. After SVG it may be markup: only its end tags are ignored.
    fn skip_raw_text(&mut self, tag: Tag, name: &[u8], offset: usize) -> usize {
        let html = self.html;
        if offset > self.ends.get(&(tag as u8)).copied().unwrap_or(0) {
            let is_end = |at: &usize| {
                let behind = &html[offset + at + 2..];
                behind.len() > name.len()
                    && behind[..name.len()].eq_ignore_ascii_case(name)
                    && (is_blank(behind[name.len()]) || matches!(behind[name.len()], b'/' | b'>'))
            };
            let end = memmem::find_iter(&html[offset..], b"</").find(is_end);
            self.ends
                .insert(tag as u8, end.map_or(html.len(), |length| offset + length));
        }
        let end = self.ends[&(tag as u8)];
        if self.has_foreign {
            self.uncertain_until = self.uncertain_until.max(end);
            return offset;
        }
        end
    }

    /// Open an element; return whether it is affordable.
    fn start(&mut self, tag: Tag, name: &'a [u8], attributes: &'a [u8], count: usize) -> bool {
        if count >= MAX_ATTRIBUTES {
            return false;
        }
        match tag {
            Tag::Option => {
                self.options += 1;
                self.steps += 2 * self.options;
            }
            Tag::Select => self.options = 0,
            Tag::Html | Tag::Body => {
                self.body_attributes += attributes.len() / 4;
                self.steps += self.body_attributes * (1 + attributes.len() / 4);
            }
            _ if self.reopened_total > FREE_REOPENED && !is_void(tag) => {
                self.steps += REOPEN_STEPS * self.reopened_total;
            }
            _ => (),
        }
        if is_reopened(tag) {
            self.open_formatting(tag, attributes);
        } else if is_scope(tag, name) {
            self.scope += 1;
            self.has_foreign = self.has_foreign || matches!(tag, Tag::Svg | Tag::Math);
        }
        if !is_void(tag) && !has_implied_end(tag) && !is_raw_text(tag) {
            self.open.push((tag, name));
            *self.open_counts.entry(name.to_ascii_lowercase()).or_insert(0) += 1;
        }
        true
    }

    fn open_formatting(&mut self, tag: Tag, attributes: &'a [u8]) {
        let entries = self.reopened.entry(tag as u8).or_default();
        let last = &entries[entries.len().saturating_sub(SAME_REOPENED)..];
        if last.iter().filter(|entry| **entry == (self.scope, attributes)).count() < SAME_REOPENED {
            entries.push((self.scope, attributes));
            self.reopened_total += 1;
        }
    }

    /// Close the open elements that an end tag closes for certain.
    fn close(&mut self, tag: Tag, name: &[u8]) {
        if is_reopened(tag)
            && let Some(entries) = self.reopened.get_mut(&(tag as u8))
            && entries.last().is_some_and(|(scope, _)| *scope == self.scope)
        {
            entries.pop();
            self.reopened_total -= 1;
        }
        if self
            .open_counts
            .get(&name.to_ascii_lowercase())
            .is_none_or(|count| *count == 0)
        {
            return;
        }
        let closes_special = is_special(tag, name);
        let mut at = self.open.len();
        while let Some((open_tag, open_name)) = at.checked_sub(1).map(|last| self.open[last]) {
            at -= 1;
            if open_tag == tag && open_name.eq_ignore_ascii_case(name) {
                break;
            }
            let stops = if closes_special {
                is_scope(open_tag, open_name)
            } else {
                is_special(open_tag, open_name)
            };
            if stops {
                return;
            }
        }
        for (_, closed) in self.open.drain(at..) {
            if let Some(count) = self.open_counts.get_mut(&closed.to_ascii_lowercase()) {
                *count -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_expensive_markup_is_cut() {
        assert_eq!(find_cut(&b"<p>text</p>".repeat(30_000)), None);
        assert!(find_cut(&b"<div>".repeat(40_000)).is_some());
        let mut flood = b"<a".to_vec();
        flood.extend(b" a".repeat(80_000));
        assert_eq!(find_cut(&flood), Some(0));
    }
}
