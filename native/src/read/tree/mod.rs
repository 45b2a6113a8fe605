//! The open elements and insertion modes of tree construction (WHATWG HTML §13.2.6), for ordinary markup.
//!
//! Elements go to the walker in document order, so only what moves nodes needs a real tree. The module is not sure then:
//! anchors that others interleave with, text and elements in odd places of tables, frames, templates.

mod body;
mod doctype;
mod formatting;
mod stack;
mod tables;

use super::Stop::{self, NotSure};
use super::tags::Tag;
use super::tokens::{Attributes, is_all_blank};
use super::walker::{Closing, Walker};
use crate::border::WorkLimit;
pub use doctype::Doctype;
use formatting::ActiveFormatting;

const TABLE: Stop = NotSure("an odd place in a table");

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Initial,
    BeforeHtml,
    BeforeHead,
    InHead,
    InHeadNoscript,
    AfterHead,
    InBody,
    InTable,
    InColumnGroup,
    InTableBody,
    InRow,
    InCell,
    InCaption,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FormPointer {
    None,
    Open,
    Left, // its element is closed, but the pointer stays until the next </form>
}

/// The content of an element that was just opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    Markup,
    Skipped(Tag), // raw text that nobody reads
    Title,
    Textarea,
    Drawing,
}

struct OpenElement<'a> {
    tag: Tag,
    name: &'a [u8], // of `Tag::Other`
    closing: Closing,
    formatting: u32, // its number in the list of active formatting elements, 0: none
}

/// The tree under construction: its open elements.
pub struct Tree<'a> {
    stack: Vec<OpenElement<'a>>,
    counts: [u16; Tag::Other as usize + 1], // open elements by tag
    mode: Mode,
    doctype: Doctype,
    form: FormPointer,
    active: ActiveFormatting,
    limit: WorkLimit,
    pub walker: Walker<'a>,
}

impl<'a> Tree<'a> {
    pub fn new(walker: Walker<'a>, limit: WorkLimit) -> Self {
        Self {
            stack: Vec::with_capacity(32),
            counts: [0; Tag::Other as usize + 1],
            mode: Mode::Initial,
            doctype: Doctype::Quirks,
            form: FormPointer::None,
            active: ActiveFormatting::default(),
            limit,
            walker,
        }
    }

    pub fn set_doctype(&mut self, doctype: Doctype) {
        if self.mode == Mode::Initial {
            self.doctype = doctype;
            self.mode = Mode::BeforeHtml;
        }
    }

    /// Add text as written; `decoded` is the same without references.
    pub fn text(&mut self, raw: &str, decoded: &str) -> Result<(), Stop> {
        match self.mode {
            Mode::InBody | Mode::InCell | Mode::InCaption => {
                self.reconstruct()?;
                self.walker.text(decoded)
            }
            _ if is_all_blank(raw) => Ok(()),
            Mode::InTable | Mode::InColumnGroup | Mode::InTableBody | Mode::InRow => Err(TABLE),
            Mode::InHeadNoscript => Err(NotSure("text in a <noscript> of the head")),
            _ if raw.trim_ascii_start().starts_with('&') => Err(NotSure("a reference before the body")),
            _ => {
                self.imply_body()?;
                self.walker.text(decoded)
            }
        }
    }

    /// Open the elements up to the body that a page may leave out.
    fn imply_body(&mut self) -> Result<(), Stop> {
        let none = Attributes::default();
        if matches!(self.mode, Mode::Initial | Mode::BeforeHtml) {
            self.push(Tag::Html, b"", Closing::Nothing)?;
            self.mode = Mode::BeforeHead;
        }
        if self.mode == Mode::BeforeHead {
            self.insert(Tag::Head, b"", &none)?;
            self.mode = Mode::InHead;
        }
        if self.mode == Mode::InHead {
            self.pop()?;
        }
        self.insert(Tag::Body, b"", &none)?;
        self.mode = Mode::InBody;
        Ok(())
    }

    /// Open an element; the answer says what its content is. It may search all open elements, so these count as work.
    pub fn start(&mut self, tag: Tag, name: &'a [u8], attributes: &Attributes<'a>) -> Result<Content, Stop> {
        self.limit.take(self.stack.len())?;
        loop {
            match self.mode {
                Mode::InBody => return self.start_in_body(tag, name, attributes),
                Mode::InCell if tag.is_table_part() => self.close_cell()?,
                Mode::InCaption if tag.is_table_part() => self.close_caption()?,
                Mode::InCell | Mode::InCaption => return self.start_in_body(tag, name, attributes),
                Mode::InTable | Mode::InColumnGroup | Mode::InTableBody | Mode::InRow => {
                    if let Some(content) = self.start_in_table(tag, attributes)? {
                        return Ok(content);
                    }
                }
                _ => {
                    if let Some(content) = self.start_before_body(tag, attributes)? {
                        return Ok(content);
                    }
                }
            }
        }
    }

    /// Open an element before the body; None: the mode changed, and the tag comes again.
    fn start_before_body(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Option<Content>, Stop> {
        match (self.mode, tag) {
            (_, Tag::Template | Tag::Noframes | Tag::Frameset) => return Err(NotSure("frames or templates")),
            (Mode::Initial | Mode::BeforeHtml, Tag::Html) => {
                self.insert(Tag::Html, b"", attributes)?;
                self.mode = Mode::BeforeHead;
            }
            (_, Tag::Html) => self.merge_html(attributes)?,
            (Mode::Initial | Mode::BeforeHtml, _) => {
                self.push(Tag::Html, b"", Closing::Nothing)?;
                self.mode = Mode::BeforeHead;
                return Ok(None);
            }
            (Mode::BeforeHead, Tag::Head) => {
                self.insert(Tag::Head, b"", attributes)?;
                self.mode = Mode::InHead;
            }
            (Mode::BeforeHead, _) => {
                self.insert(Tag::Head, b"", &Attributes::default())?;
                self.mode = Mode::InHead;
                return Ok(None);
            }
            (Mode::InHead | Mode::AfterHead, Tag::Head) => (),
            (Mode::InHeadNoscript, Tag::Link | Tag::Meta | Tag::Style) => return self.start_in_head(tag, attributes),
            (Mode::InHeadNoscript, Tag::Head | Tag::Noscript) => (),
            (Mode::InHeadNoscript, _) => return self.leave(Mode::InHead), // as every page does that counts its visitors
            (Mode::InHead, Tag::Noscript) => {
                self.insert(tag, b"", attributes)?;
                self.mode = Mode::InHeadNoscript;
            }
            (Mode::InHead | Mode::AfterHead, _) if is_metadata(tag) => return self.start_in_head(tag, attributes),
            (Mode::AfterHead, Tag::Body) => {
                self.insert(Tag::Body, b"", attributes)?;
                self.mode = Mode::InBody;
            }
            (Mode::InHead, _) => {
                self.pop()?;
                self.mode = Mode::AfterHead;
                return Ok(None);
            }
            _ => {
                self.insert(Tag::Body, b"", &Attributes::default())?;
                self.mode = Mode::InBody;
                return Ok(None);
            }
        }
        Ok(Some(Content::Markup))
    }

    /// Take over the attributes of a second `<html>`: not sure of its language.
    fn merge_html(&self, attributes: &Attributes<'a>) -> Result<(), Stop> {
        match attributes.raw("lang").or(attributes.raw("xml:lang")) {
            Some(_) => Err(NotSure("a second <html>")),
            None => Ok(()),
        }
    }

    fn start_in_head(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Option<Content>, Stop> {
        self.walker.open_in_head(tag, attributes)?;
        Ok(Some(metadata_content(tag)))
    }

    /// Handle an end tag.
    pub fn end(&mut self, tag: Tag, name: &[u8]) -> Result<(), Stop> {
        self.limit.take(self.stack.len())?;
        loop {
            let is_done = match self.mode {
                Mode::InBody => return self.end_in_body(tag, name),
                Mode::InCell => self.end_in_cell(tag, name)?,
                Mode::InCaption => self.end_in_caption(tag, name)?,
                Mode::InTable | Mode::InColumnGroup | Mode::InTableBody | Mode::InRow => self.end_in_table(tag)?,
                _ => return self.end_before_body(tag),
            };
            if is_done {
                return Ok(());
            }
        }
    }

    fn end_before_body(&mut self, tag: Tag) -> Result<(), Stop> {
        match (self.mode, tag) {
            (Mode::InHead, Tag::Head) => {
                self.pop()?;
                self.mode = Mode::AfterHead;
            }
            (Mode::InHeadNoscript, Tag::Noscript) => {
                self.pop()?;
                self.mode = Mode::InHead;
            }
            (Mode::InHead | Mode::AfterHead, Tag::Body | Tag::Html | Tag::Br | Tag::Template) => {
                return Err(NotSure("an end tag before the body"));
            }
            (Mode::InHead | Mode::AfterHead, _) => (), // nothing to end
            _ => return Err(NotSure("an end tag before the body")),
        }
        Ok(())
    }

    /// Close all elements at the end of the page.
    pub fn finish(mut self) -> Result<Walker<'a>, Stop> {
        if matches!(
            self.mode,
            Mode::Initial | Mode::BeforeHtml | Mode::BeforeHead | Mode::InHeadNoscript
        ) {
            return Err(NotSure("a page without content"));
        }
        while !self.stack.is_empty() {
            self.pop()?;
        }
        Ok(self.walker)
    }
}

fn is_metadata(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Base | Tag::Basefont | Tag::Bgsound | Tag::Link | Tag::Meta | Tag::Title | Tag::Script | Tag::Style
    )
}

fn metadata_content(tag: Tag) -> Content {
    match tag {
        Tag::Title => Content::Title,
        Tag::Script | Tag::Style | Tag::Iframe | Tag::Noembed => Content::Skipped(tag),
        _ => Content::Markup,
    }
}
