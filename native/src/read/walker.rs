//! What the elements of HTML mean to a crawler: links, metadata, blocks of text (elements.py and `HtmlWalker`).

use std::borrow::Cow;
use std::cell::OnceCell;

use super::Stop::{self, NotSure};
use super::blanks::{Collapsed, clean, start_length};
use super::links::{self, FoundLink, FoundLinks};
use super::roles::{has_roles, position_by_role};
use super::runs::{PARAGRAPH, Runs, TEXT};
use super::srcset::srcset_urls;
use super::tags::Tag;
use super::tokens::Attributes;

const MAX_TITLE: usize = 1000;
const MAX_DESCRIPTION: usize = 2000;
const MAX_ANCHOR: usize = 500;
const MAX_ANCHOR_PARTS: usize = 200; // the sure way uses 256 parts of text of one anchor
const MAX_REL: usize = 200;
const MAX_URL: usize = 64 << 10;
const MAX_CHARACTERS: usize = 16 << 20; // of all URLs of a page

pub const CONTENT: u8 = 0;
const NAV: u8 = 1;
const HEADER: u8 = 2;
const FOOTER: u8 = 3;
const ASIDE: u8 = 4;
pub const HEAD: u8 = 5;

/// What happens at the end of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closing {
    Nothing,
    Block,
    Field(u8),    // the field around it
    Landmark(u8), // the position around it
    Anchor,
}

/// An `<a href>` that is open.
struct OpenAnchor {
    link: usize,
    text: Collapsed,
    parts: usize,
    alts: Vec<String>,
}

/// The metadata of a page.
#[derive(Default)]
pub struct Metadata {
    pub title: String,
    pub description: String,
    pub language: String,
    pub canonicals: Vec<u32>, // the numbers of their hrefs
    pub base: Option<String>, // of the first <base href>
    pub robots: Vec<(String, String)>,
}

/// Collects what the reader hands it, in document order.
pub struct Walker<'a> {
    page: &'a str,
    keep_anchors: bool,
    has_roles: OnceCell<bool>,
    field: u8,
    position: u8,
    in_drawing: bool,
    anchor: Option<OpenAnchor>,
    free_text: Collapsed, // memory for the text of the next anchor
    characters: usize,    // of all URLs, at most
    base_length: usize,
    pub max_links: usize,
    pub runs: Runs,
    pub found: FoundLinks<'a>,
    pub metadata: Metadata,
}

impl<'a> Walker<'a> {
    pub fn new(page: &'a str, url: &str, max_links: usize, keep_anchors: bool) -> Self {
        Self {
            page,
            keep_anchors,
            has_roles: OnceCell::new(),
            field: TEXT,
            position: CONTENT,
            in_drawing: false,
            anchor: None,
            free_text: Collapsed::default(),
            characters: 0,
            base_length: url.len(),
            max_links,
            runs: Runs::new(),
            found: FoundLinks::default(),
            metadata: Metadata::default(),
        }
    }

    /// Add text of the page.
    pub fn text(&mut self, text: &str) -> Result<(), Stop> {
        if !self.in_drawing {
            self.runs.push(text);
        }
        if let Some(anchor) = &mut self.anchor {
            anchor.text.push(text);
        }
        self.count_anchor_part()
    }

    fn count_anchor_part(&mut self) -> Result<(), Stop> {
        if let Some(anchor) = &mut self.anchor {
            anchor.parts += 1;
            if anchor.parts > MAX_ANCHOR_PARTS {
                return Err(NotSure("a long anchor"));
            }
        }
        Ok(())
    }

    /// A mark between two blocks: a blank in the text of an anchor.
    fn mark(&mut self) -> Result<(), Stop> {
        if let Some(anchor) = &mut self.anchor {
            anchor.text.push_gap();
        }
        self.count_anchor_part()
    }

    pub fn end_block(&mut self) -> Result<(), Stop> {
        self.runs.end_block();
        self.mark()
    }

    fn start_field(&mut self, field: u8) -> Result<(), Stop> {
        self.field = field;
        self.runs.start_field(field);
        self.mark()
    }

    /// Start an element; the answer says how to close it.
    pub fn open(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Closing, Stop> {
        match tag {
            Tag::A => return self.open_anchor(attributes),
            Tag::Br => self.break_line()?,
            Tag::Img => self.image(attributes)?,
            Tag::Head | Tag::Nav | Tag::Header | Tag::Footer | Tag::Aside | Tag::Main => {
                return self.open_landmark(tag, attributes);
            }
            Tag::Body | Tag::Table => {
                self.add_link(attributes.get("background")?, links::OTHER, None, "")?;
                self.end_block()?;
                return Ok(Closing::Block);
            }
            Tag::Meta => self.meta(attributes)?,
            Tag::Link => self.link(attributes)?,
            Tag::Base => self.base(attributes)?,
            Tag::Html => self.html(attributes)?,
            Tag::Area => self.area(attributes)?,
            Tag::Input if attributes.text("type")?.eq_ignore_ascii_case("image") => {
                self.add_link(attributes.get("src")?, links::IMAGE, attributes.get("alt")?, "")?;
            }
            Tag::Source => self.source(attributes)?,
            Tag::Video => {
                self.add_link(attributes.get("src")?, links::MEDIA, None, "")?;
                self.add_link(attributes.get("poster")?, links::IMAGE, None, "")?;
            }
            Tag::Iframe => self.add_link(attributes.get("src")?, links::FRAME, None, "")?,
            Tag::Script => self.add_link(attributes.get("src")?, links::SCRIPT, None, "")?,
            Tag::Audio | Tag::Track | Tag::Embed => self.add_link(attributes.get("src")?, links::MEDIA, None, "")?,
            Tag::Object => self.add_link(attributes.get("data")?, links::MEDIA, None, "")?,
            _ if tag.is_block() || tag.is_heading() || tag == Tag::P => return self.open_block(tag, attributes),
            _ => (),
        }
        Ok(Closing::Nothing)
    }

    /// End an element.
    pub fn close(&mut self, closing: Closing) -> Result<(), Stop> {
        match closing {
            Closing::Nothing => Ok(()),
            Closing::Block => self.end_block(),
            Closing::Field(field) => self.start_field(field),
            Closing::Landmark(position) => {
                self.position = position;
                self.end_block()
            }
            Closing::Anchor => {
                self.close_anchor();
                Ok(())
            }
        }
    }

    /// Start and end a `<head>` again for one element behind it.
    pub fn open_in_head(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<(), Stop> {
        let before = std::mem::replace(&mut self.position, HEAD);
        self.open(tag, attributes)?;
        self.position = before;
        Ok(())
    }

    fn break_line(&mut self) -> Result<(), Stop> {
        self.text(" ")
    }

    fn role_position(&self, attributes: &Attributes<'a>) -> Result<Option<u8>, Stop> {
        if !self.keep_anchors || attributes.raw("role").is_none() {
            return Ok(None);
        }
        let position = position_by_role(&attributes.text("role")?);
        Ok(position.filter(|_| *self.has_roles.get_or_init(|| has_roles(self.page.as_bytes()))))
    }

    fn open_landmark(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Closing, Stop> {
        let by_tag = match tag {
            Tag::Head => HEAD,
            Tag::Nav => NAV,
            Tag::Header => HEADER,
            Tag::Footer => FOOTER,
            Tag::Aside => ASIDE,
            _ => CONTENT,
        };
        let position = self.role_position(attributes)?.unwrap_or(by_tag);
        self.enter_landmark(position)
    }

    fn enter_landmark(&mut self, position: u8) -> Result<Closing, Stop> {
        let before = std::mem::replace(&mut self.position, position);
        self.end_block()?;
        Ok(Closing::Landmark(before))
    }

    fn open_block(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Closing, Stop> {
        if let Some(position) = self.role_position(attributes)? {
            return self.enter_landmark(position);
        }
        let in_heading = (1..=6).contains(&self.field);
        if tag.is_block() || in_heading || self.in_drawing {
            self.end_block()?;
            return Ok(Closing::Block);
        }
        let before = self.field;
        let field = if tag == Tag::P {
            PARAGRAPH
        } else {
            tag as u8 - Tag::H1 as u8 + 1
        };
        self.start_field(field)?;
        Ok(Closing::Field(before))
    }

    fn open_anchor(&mut self, attributes: &Attributes<'a>) -> Result<Closing, Stop> {
        let Some(href) = attributes.get("href")? else {
            return match attributes.raw("xlink:href") {
                Some(_) => Err(NotSure("xlink:href")),
                None => Ok(Closing::Nothing),
            };
        };
        let rel = normalize_rel(attributes.text("rel")?)?;
        self.push_link(href, links::HYPERLINK, "", &rel)?;
        if !self.keep_anchors {
            return Ok(Closing::Nothing);
        }
        let link = self.found.links.len() - 1;
        self.anchor = Some(OpenAnchor {
            link,
            text: std::mem::take(&mut self.free_text),
            parts: 0,
            alts: Vec::new(),
        });
        Ok(Closing::Anchor)
    }

    fn close_anchor(&mut self) {
        let Some(mut anchor) = self.anchor.take() else { return };
        let alts;
        let mut text = anchor.text.text.as_str();
        if text.trim().is_empty() && !anchor.alts.is_empty() {
            alts = clean(&anchor.alts.join(" "), MAX_ANCHOR);
            text = &alts;
        }
        let piece = self.found.keep(&text[..start_length(text, MAX_ANCHOR)]);
        self.found.links[anchor.link].anchor = piece;
        anchor.text.clear();
        self.free_text = anchor.text;
    }

    /// Add a link from an attribute. An empty one names no resource.
    fn add_link(
        &mut self,
        href: Option<Cow<'a, str>>,
        kind: u8,
        text: Option<Cow<'a, str>>,
        rel: &str,
    ) -> Result<(), Stop> {
        match href {
            Some(href) if !href.is_empty() => {
                let text = text.filter(|_| self.keep_anchors).unwrap_or_default();
                self.push_link(href, kind, &clean(&text, MAX_ANCHOR), rel)
            }
            _ => Ok(()),
        }
    }

    fn push_link(&mut self, href: Cow<'a, str>, kind: u8, anchor: &str, rel: &str) -> Result<(), Stop> {
        let is_data = href
            .as_bytes()
            .get(..5)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"data:"));
        let href = if is_data { Cow::Borrowed("data:") } else { href };
        self.characters += self.base_length + 3 * href.len() + if is_data { MAX_URL } else { 0 };
        if href.len() > MAX_URL || self.characters > MAX_CHARACTERS || self.found.links.len() >= self.max_links {
            return Err(NotSure("many or long links"));
        }
        let (href, anchor) = (self.found.href_number(href), self.found.keep(anchor));
        let rel = self.found.keep(rel);
        self.found.links.push(FoundLink {
            href,
            kind,
            position: self.position,
            anchor,
            rel,
        });
        Ok(())
    }

    fn html(&mut self, attributes: &Attributes<'a>) -> Result<(), Stop> {
        let mut language = attributes.text("lang")?;
        if language.is_empty() {
            language = attributes.text("xml:lang")?;
        }
        self.metadata.language = language.into_owned();
        Ok(())
    }

    /// Keep the title of the page: the first that is not empty.
    pub fn title(&mut self, text: &str) {
        if self.metadata.title.is_empty() {
            self.metadata.title = clean(text, MAX_TITLE);
        }
    }

    /// Use the first one with an href.
    fn base(&mut self, attributes: &Attributes<'a>) -> Result<(), Stop> {
        if self.metadata.base.is_none()
            && let Some(href) = attributes.get("href")?
        {
            if href.len() > MAX_URL {
                return Err(NotSure("a long base"));
            }
            self.base_length += 3 * href.len();
            self.characters += self.found.links.len() * 3 * href.len();
            self.metadata.base = Some(href.into_owned());
        }
        Ok(())
    }

    fn meta(&mut self, attributes: &Attributes<'a>) -> Result<(), Stop> {
        let content = attributes.text("content")?;
        if content.is_empty() {
            return Ok(());
        }
        let name = lower_name(&attributes.text("name")?)?;
        if name == "description" {
            if self.metadata.description.is_empty() {
                self.metadata.description = clean(&content, MAX_DESCRIPTION);
            }
        } else if !name.is_empty() {
            self.metadata.robots.push((name, content.into_owned()));
        } else {
            match lower_name(&attributes.text("http-equiv")?)?.as_str() {
                "refresh" => return Err(NotSure("a refresh")),
                "content-language" if self.metadata.language.is_empty() => {
                    self.metadata.language = content.into_owned();
                }
                _ => (),
            }
        }
        Ok(())
    }

    fn link(&mut self, attributes: &Attributes<'a>) -> Result<(), Stop> {
        let rel = normalize_rel(attributes.text("rel")?)?;
        let (href, kind) = (attributes.text("href")?, links::rel_kind(&rel));
        let Some(kind) = kind.filter(|_| !href.is_empty()) else {
            return Ok(());
        };
        let title = attributes.get("title")?;
        self.add_link(Some(href), kind, title, &rel)?;
        if kind == links::CANONICAL {
            self.metadata
                .canonicals
                .extend(self.found.links.last().map(|link| link.href));
        }
        Ok(())
    }

    fn area(&mut self, attributes: &Attributes<'a>) -> Result<(), Stop> {
        let Some(href) = attributes.get("href")? else {
            return Ok(());
        };
        let href = if href.is_empty() { Cow::Borrowed("#") } else { href };
        let rel = normalize_rel(attributes.text("rel")?)?;
        self.add_link(Some(href), links::HYPERLINK, attributes.get("alt")?, &rel)
    }

    fn image(&mut self, attributes: &Attributes<'a>) -> Result<(), Stop> {
        let alt = attributes.get("alt")?;
        if let (Some(anchor), Some(alt)) = (&mut self.anchor, &alt)
            && !alt.is_empty()
        {
            anchor.alts.push(alt.to_string());
        }
        let source = attributes.get("src")?;
        self.add_link(source.clone(), links::IMAGE, alt.clone(), "")?;
        for href in srcset_urls(&attributes.text("srcset")?)? {
            if source.as_deref() != Some(href.as_str()) {
                self.add_link(Some(Cow::Owned(href)), links::IMAGE, alt.clone(), "")?;
            }
        }
        Ok(())
    }

    fn source(&mut self, attributes: &Attributes<'a>) -> Result<(), Stop> {
        self.add_link(attributes.get("src")?, links::MEDIA, None, "")?;
        for href in srcset_urls(&attributes.text("srcset")?)? {
            self.add_link(Some(Cow::Owned(href)), links::IMAGE, None, "")?;
        }
        Ok(())
    }

    // -- drawings ----------------------------------------------------------------------------------------------------

    /// Hide the text of a drawing, but not from the anchor around it.
    pub fn start_drawing(&mut self) -> Result<(), Stop> {
        self.in_drawing = true;
        self.mark()
    }

    pub fn end_drawing(&mut self) -> Result<(), Stop> {
        self.in_drawing = false;
        self.mark()
    }

    /// The title of a drawing serves as its alt text.
    pub fn drawing_title(&mut self, text: &str) {
        if let Some(anchor) = &mut self.anchor {
            anchor.alts.push(text.to_owned());
        }
    }

    /// Return the packed text, the links and the metadata.
    pub fn finish(self) -> (Vec<u8>, FoundLinks<'a>, Metadata) {
        let packed = self.runs.finish(&self.metadata.title, &self.metadata.description);
        (packed, self.found, self.metadata)
    }
}

/// Return a rel attribute in lower case, with single blanks.
fn normalize_rel(rel: Cow<'_, str>) -> Result<String, Stop> {
    if !rel.is_ascii() || rel.len() > MAX_REL {
        return Err(NotSure("an odd rel"));
    }
    Ok(clean(&rel, MAX_REL).to_ascii_lowercase())
}

/// Return the name of a meta element.
fn lower_name(name: &str) -> Result<String, Stop> {
    if !name.is_ascii() {
        return Err(NotSure("an odd name"));
    }
    Ok(name.trim_ascii().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rels_have_one_spelling() {
        assert_eq!(
            normalize_rel(Cow::Borrowed(" NoFollow\n ugc ")).unwrap(),
            "nofollow ugc"
        );
    }
}
