//! The open elements and insertion modes of tree construction (WHATWG HTML §13.2.6), for ordinary markup.
//!
//! Elements go to the walker in document order, so only what moves nodes needs a real tree. The module is not sure then:
//! formatting elements left open, text and elements in odd places of tables, frames, templates.

use super::Stop::{self, NotSure};
use super::tags::Tag;
use super::tokens::{Attributes, is_all_blank};
use super::walker::{Closing, Walker};
use crate::border::WorkLimit;

const MAX_DEPTH: usize = 200; // open elements: an end tag may search them all
const FORMATTING: Stop = NotSure("a formatting element left open");
const TABLE: Stop = NotSure("an odd place in a table");
const SELECT: Stop = NotSure("a list of options");

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

/// How the document type of a page treats a table in a paragraph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Doctype {
    Missing,
    Html,
    Other,
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
}

/// The tree under construction: its open elements.
pub struct Tree<'a> {
    stack: Vec<OpenElement<'a>>,
    counts: [u16; Tag::Other as usize + 1], // open elements by tag
    mode: Mode,
    doctype: Doctype,
    form: FormPointer,
    limit: WorkLimit,
    pub walker: Walker<'a>,
}

impl<'a> Tree<'a> {
    pub fn new(walker: Walker<'a>, limit: WorkLimit) -> Self {
        Self {
            stack: Vec::with_capacity(32),
            counts: [0; Tag::Other as usize + 1],
            mode: Mode::Initial,
            doctype: Doctype::Missing,
            form: FormPointer::None,
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
            Mode::InBody | Mode::InCell | Mode::InCaption => self.walker.text(decoded),
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

    // -- the stack ---------------------------------------------------------------------------------------------------

    fn insert(&mut self, tag: Tag, name: &'a [u8], attributes: &Attributes<'a>) -> Result<(), Stop> {
        let closing = self.walker.open(tag, attributes)?;
        self.push(tag, name, closing)
    }

    fn insert_void(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Content, Stop> {
        let closing = self.walker.open(tag, attributes)?;
        self.walker.close(closing)?;
        Ok(Content::Markup)
    }

    fn push(&mut self, tag: Tag, name: &'a [u8], closing: Closing) -> Result<(), Stop> {
        if self.stack.len() == MAX_DEPTH {
            return Err(NotSure("deep nesting"));
        }
        self.counts[tag as usize] += 1;
        self.stack.push(OpenElement { tag, name, closing });
        Ok(())
    }

    fn pop(&mut self) -> Result<(), Stop> {
        let Some(element) = self.stack.pop() else { return Ok(()) };
        self.counts[element.tag as usize] -= 1;
        if element.tag == Tag::Form && self.form == FormPointer::Open {
            self.form = FormPointer::Left;
        }
        self.walker.close(element.closing)
    }

    fn top(&self) -> Tag {
        self.stack.last().map_or(Tag::Other, |element| element.tag)
    }

    fn is_open(&self, tag: Tag) -> bool {
        self.counts[tag as usize] > 0
    }

    /// Return where the innermost such element is, unless one that separates is inside it.
    fn find(&self, wanted: impl Fn(Tag) -> bool, separates: impl Fn(Tag) -> bool) -> Option<usize> {
        for (at, element) in self.stack.iter().enumerate().rev() {
            if wanted(element.tag) {
                return Some(at);
            }
            if separates(element.tag) {
                return None;
            }
        }
        None
    }

    fn find_in_scope(&self, tag: Tag) -> Option<usize> {
        if self.is_open(tag) {
            self.find(|open| open == tag, Tag::is_scope)
        } else {
            None
        }
    }

    fn find_in_table(&self, tag: Tag) -> Option<usize> {
        if self.is_open(tag) {
            self.find(|open| open == tag, |open| open == Tag::Table)
        } else {
            None
        }
    }

    fn find_paragraph(&self) -> Option<usize> {
        if !self.is_open(Tag::P) {
            return None;
        }
        self.find(|open| open == Tag::P, |open| open.is_scope() || open == Tag::Button)
    }

    fn pop_implied(&mut self, except: Tag) -> Result<(), Stop> {
        while self.top().has_implied_end() && self.top() != except {
            self.pop()?;
        }
        Ok(())
    }

    /// Close an element and all inside it. Formatting elements inside would be opened again behind it.
    fn close(&mut self, at: usize) -> Result<(), Stop> {
        if self.stack[at + 1..].iter().any(|element| element.tag.is_formatting()) {
            return Err(FORMATTING);
        }
        self.close_with_formatting(at)
    }

    /// Close an element that formatting elements inside do not leave: a cell, a caption, an object.
    fn close_with_formatting(&mut self, at: usize) -> Result<(), Stop> {
        if self.stack[at + 1..].iter().any(|element| element.tag.is_scope()) {
            return Err(NotSure("an object left open"));
        }
        while self.stack.len() > at {
            self.pop()?;
        }
        Ok(())
    }

    fn close_paragraph(&mut self) -> Result<(), Stop> {
        match self.find_paragraph() {
            Some(at) => self.close(at),
            None => Ok(()),
        }
    }

    // -- start tags --------------------------------------------------------------------------------------------------

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
            (_, Tag::Html) => return Err(NotSure("a second <html>")),
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
            (Mode::InHeadNoscript, _) => return Err(NotSure("a <noscript> in the head")),
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

    fn start_in_head(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Option<Content>, Stop> {
        self.walker.open_in_head(tag, attributes)?;
        Ok(Some(metadata_content(tag)))
    }

    fn start_in_body(&mut self, tag: Tag, name: &'a [u8], attributes: &Attributes<'a>) -> Result<Content, Stop> {
        if self.is_open(Tag::Select) {
            return self.start_in_select(tag, attributes);
        }
        match tag {
            Tag::P => self.close_paragraph()?,
            _ if tag.is_plain_block() => self.close_paragraph()?,
            Tag::Span | Tag::Other | Tag::Abbr | Tag::Ruby | Tag::Legend => (),
            Tag::Audio | Tag::Video | Tag::Noscript => (),
            _ if tag.is_drawn() => (),
            Tag::A if self.is_open(Tag::A) => return Err(NotSure("an anchor in an anchor")),
            Tag::Nobr => return Err(NotSure("<nobr>")),
            _ if tag.is_formatting() => (),
            _ if tag.is_heading() => {
                self.close_paragraph()?;
                if self.top().is_heading() {
                    self.pop()?;
                }
            }
            Tag::Li => self.close_item(&[Tag::Li])?,
            Tag::Dd | Tag::Dt => self.close_item(&[Tag::Dd, Tag::Dt])?,
            Tag::Form if self.form != FormPointer::None => return Ok(Content::Markup),
            Tag::Form => {
                self.close_paragraph()?;
                self.form = FormPointer::Open;
            }
            Tag::Button if self.is_open(Tag::Button) => return Err(NotSure("a button in a button")),
            Tag::Button | Tag::Object | Tag::Applet | Tag::Marquee | Tag::Select => (),
            Tag::Table => self.start_table()?,
            Tag::Hr => {
                self.close_paragraph()?;
                return self.insert_void(tag, attributes);
            }
            Tag::Head | Tag::Frame => return Ok(Content::Markup),
            _ if tag.is_table_part() => return Ok(Content::Markup),
            _ if tag.is_void() => return self.insert_void(tag, attributes),
            Tag::Title | Tag::Script | Tag::Style | Tag::Iframe | Tag::Noembed => {
                self.walker.open(tag, attributes)?;
                return Ok(metadata_content(tag));
            }
            Tag::Textarea => {
                self.insert(tag, b"", attributes)?;
                return Ok(Content::Textarea);
            }
            Tag::Svg => return Ok(Content::Drawing),
            _ => return Err(NotSure("an element that moves others")),
        }
        self.insert(tag, name, attributes)?;
        Ok(Content::Markup)
    }

    fn start_table(&mut self) -> Result<(), Stop> {
        match self.doctype {
            Doctype::Html => self.close_paragraph()?,
            Doctype::Other if self.find_paragraph().is_some() => return Err(NotSure("a table in a paragraph")),
            _ => (),
        }
        self.mode = Mode::InTable;
        Ok(())
    }

    fn start_in_select(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Content, Stop> {
        if !matches!(tag, Tag::Option | Tag::Optgroup) {
            return Err(SELECT);
        }
        if self.top() == Tag::Option {
            self.pop()?;
        }
        if self.top() == Tag::Optgroup && tag == Tag::Optgroup {
            self.pop()?;
        }
        self.insert(tag, b"", attributes)?;
        Ok(Content::Markup)
    }

    /// Close the open item of a list, and a paragraph.
    fn close_item(&mut self, items: &[Tag]) -> Result<(), Stop> {
        let is_item = |tag: Tag| items.contains(&tag);
        let ends_list = |tag: Tag| tag.is_special() && !matches!(tag, Tag::Address | Tag::Div | Tag::P);
        if items.iter().any(|item| self.is_open(*item))
            && let Some(at) = self.find(is_item, ends_list)
        {
            self.close(at)?;
        }
        self.close_paragraph()
    }

    /// Open an element where a table has no text; None: the mode changed, and the tag comes again.
    fn start_in_table(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Option<Content>, Stop> {
        let none = Attributes::default();
        let (inserted, mode) = match (self.mode, tag) {
            (_, Tag::Script | Tag::Style) => {
                self.walker.open(tag, attributes)?;
                return Ok(Some(Content::Skipped(tag)));
            }
            (Mode::InColumnGroup, Tag::Col) => return self.insert_void(tag, attributes).map(Some),
            (Mode::InColumnGroup, _) => return self.leave(Mode::InTable),
            (Mode::InTable, Tag::Caption) => (Some(tag), Mode::InCaption),
            (Mode::InTable, Tag::Colgroup) => (Some(tag), Mode::InColumnGroup),
            (Mode::InTable, Tag::Col) => (None, Mode::InColumnGroup),
            (Mode::InTable, Tag::Tbody | Tag::Thead | Tag::Tfoot) => (Some(tag), Mode::InTableBody),
            (Mode::InTable, Tag::Td | Tag::Th | Tag::Tr) => (None, Mode::InTableBody),
            (Mode::InTableBody, Tag::Tr) => (Some(tag), Mode::InRow),
            (Mode::InTableBody, Tag::Td | Tag::Th) => (None, Mode::InRow),
            (Mode::InTableBody, _) if tag.is_table_part() => return self.leave(Mode::InTable),
            (Mode::InRow, Tag::Td | Tag::Th) => (Some(tag), Mode::InCell),
            (Mode::InRow, _) if tag.is_table_part() => return self.leave(Mode::InTableBody),
            _ => return Err(TABLE),
        };
        self.mode = mode;
        if inserted.is_some() {
            self.insert(tag, b"", attributes)?;
            return Ok(Some(Content::Markup));
        }
        let implied = match mode {
            Mode::InColumnGroup => Tag::Colgroup,
            Mode::InTableBody => Tag::Tbody,
            _ => Tag::Tr,
        };
        self.insert(implied, b"", &none)?;
        Ok(None)
    }

    /// Close the current part of a table.
    fn leave(&mut self, mode: Mode) -> Result<Option<Content>, Stop> {
        self.pop()?;
        self.mode = mode;
        Ok(None)
    }

    fn close_cell(&mut self) -> Result<(), Stop> {
        if let Some(at) = self.find(|tag| matches!(tag, Tag::Td | Tag::Th), |_| false) {
            self.close_with_formatting(at)?;
        }
        self.mode = Mode::InRow;
        Ok(())
    }

    fn close_caption(&mut self) -> Result<(), Stop> {
        if let Some(at) = self.find_in_table(Tag::Caption) {
            self.close_with_formatting(at)?;
        }
        self.mode = Mode::InTable;
        Ok(())
    }

    // -- end tags ----------------------------------------------------------------------------------------------------

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

    /// Handle an end tag between the parts of a table; false: the mode changed, and the tag comes again.
    fn end_in_table(&mut self, tag: Tag) -> Result<bool, Stop> {
        match (self.mode, tag) {
            (Mode::InColumnGroup, Tag::Col) => Ok(true),
            (Mode::InColumnGroup, _) => self.leave(Mode::InTable).map(|_| tag == Tag::Colgroup),
            (Mode::InTable, Tag::Table) => self.end_table().map(|()| true),
            (Mode::InTableBody, Tag::Table) => self.leave(Mode::InTable).map(|_| false),
            (Mode::InTableBody, Tag::Tbody | Tag::Thead | Tag::Tfoot) => {
                if self.find_in_table(tag).is_some() {
                    self.leave(Mode::InTable)?;
                }
                Ok(true)
            }
            (Mode::InRow, Tag::Tr) => self.leave(Mode::InTableBody).map(|_| true),
            (Mode::InRow, Tag::Table) => self.leave(Mode::InTableBody).map(|_| false),
            (Mode::InRow, Tag::Tbody | Tag::Thead | Tag::Tfoot) => {
                let is_open = self.find_in_table(tag).is_some();
                if is_open {
                    self.leave(Mode::InTableBody)?;
                }
                Ok(!is_open)
            }
            (_, Tag::Body | Tag::Html) => Ok(true),
            _ if tag.is_table_part() => Ok(true),
            _ => Err(TABLE),
        }
    }

    fn end_table(&mut self) -> Result<(), Stop> {
        if let Some(at) = self.find(|tag| tag == Tag::Table, |_| false) {
            self.close(at)?;
        }
        let around = self.find(
            |tag| matches!(tag, Tag::Td | Tag::Th | Tag::Caption | Tag::Body),
            |_| false,
        );
        self.mode = match around.map(|at| self.stack[at].tag) {
            Some(Tag::Td | Tag::Th) => Mode::InCell,
            Some(Tag::Caption) => Mode::InCaption,
            _ => Mode::InBody,
        };
        Ok(())
    }

    fn end_in_cell(&mut self, tag: Tag, name: &[u8]) -> Result<bool, Stop> {
        match tag {
            Tag::Td | Tag::Th => {
                if let Some(at) = self.find_in_table(tag) {
                    self.close_with_formatting(at)?;
                    self.mode = Mode::InRow;
                }
                Ok(true)
            }
            Tag::Body | Tag::Html | Tag::Caption | Tag::Col | Tag::Colgroup => Ok(true),
            Tag::Table | Tag::Tbody | Tag::Thead | Tag::Tfoot | Tag::Tr => {
                let is_open = tag == Tag::Table || self.find_in_table(tag).is_some();
                if is_open {
                    self.close_cell()?;
                }
                Ok(!is_open)
            }
            _ => self.end_in_body(tag, name).map(|()| true),
        }
    }

    fn end_in_caption(&mut self, tag: Tag, name: &[u8]) -> Result<bool, Stop> {
        match tag {
            Tag::Caption => self.close_caption().map(|()| true),
            Tag::Table => self.close_caption().map(|()| false),
            Tag::Body | Tag::Html => Ok(true),
            _ if tag.is_table_part() => Ok(true),
            _ => self.end_in_body(tag, name).map(|()| true),
        }
    }

    fn end_in_body(&mut self, tag: Tag, name: &[u8]) -> Result<(), Stop> {
        if self.is_open(Tag::Select) {
            return self.end_in_select(tag);
        }
        match tag {
            Tag::Body | Tag::Html => Ok(()), // text behind it belongs to the element that is open
            Tag::P => self.end_paragraph(),
            Tag::Li => {
                let ends_list = |open: Tag| open.is_scope() || matches!(open, Tag::Ol | Tag::Ul);
                let at = if self.is_open(tag) {
                    self.find(|open| open == tag, ends_list)
                } else {
                    None
                };
                at.map_or(Ok(()), |at| self.close(at))
            }
            Tag::Form => self.end_form(),
            Tag::Br => Err(NotSure("</br>")),
            Tag::Dd | Tag::Dt | Tag::Button => self.end_in_scope(tag),
            Tag::Applet | Tag::Marquee | Tag::Object => self
                .find_in_scope(tag)
                .map_or(Ok(()), |at| self.close_with_formatting(at)),
            _ if tag.is_plain_block() => self.end_in_scope(tag),
            _ if tag.is_heading() => self
                .find(Tag::is_heading, Tag::is_scope)
                .map_or(Ok(()), |at| self.close(at)),
            _ if tag.is_formatting() => self.end_formatting(tag),
            _ => self.end_ordinary(tag, name),
        }
    }

    fn end_in_scope(&mut self, tag: Tag) -> Result<(), Stop> {
        self.find_in_scope(tag).map_or(Ok(()), |at| self.close(at))
    }

    fn end_in_select(&mut self, tag: Tag) -> Result<(), Stop> {
        match tag {
            Tag::Select => self.end_in_scope(Tag::Select),
            Tag::Option | Tag::Optgroup if self.top() == tag => self.pop(),
            Tag::Optgroup if self.top() == Tag::Option => {
                let at = self.find_in_scope(Tag::Optgroup).ok_or(SELECT)?;
                self.close(at)
            }
            _ => Err(SELECT),
        }
    }

    /// End a paragraph; one that is not open becomes an empty one.
    fn end_paragraph(&mut self) -> Result<(), Stop> {
        if self.find_paragraph().is_none() {
            self.insert(Tag::P, b"", &Attributes::default())?;
        }
        self.close_paragraph()
    }

    fn end_form(&mut self) -> Result<(), Stop> {
        let before = std::mem::replace(&mut self.form, FormPointer::None);
        if before != FormPointer::Open {
            return Ok(());
        }
        let Some(at) = self.find_in_scope(Tag::Form) else {
            return Ok(());
        };
        self.pop_implied(Tag::Other)?;
        if at + 1 != self.stack.len() {
            return Err(NotSure("a form that ends in an element"));
        }
        self.pop()
    }

    /// End a formatting element, and the ordinary elements inside that are still open.
    fn end_formatting(&mut self, tag: Tag) -> Result<(), Stop> {
        if !self.is_open(tag) {
            return Ok(());
        }
        match self.find(|open| open == tag, |open| open.is_special() || open.is_formatting()) {
            Some(at) => self.close(at),
            None => Err(FORMATTING),
        }
    }

    fn end_ordinary(&mut self, tag: Tag, name: &[u8]) -> Result<(), Stop> {
        if !self.is_open(tag) {
            return Ok(());
        }
        for at in (0..self.stack.len()).rev() {
            let open = &self.stack[at];
            if open.tag == tag && (tag != Tag::Other || open.name.eq_ignore_ascii_case(name)) {
                return self.close(at);
            }
            if open.tag.is_special() {
                return Ok(());
            }
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
