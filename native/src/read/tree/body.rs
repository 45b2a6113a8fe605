//! Tags in the body of a page (WHATWG HTML §13.2.6.4.7).

use super::super::Stop::{self, NotSure};
use super::super::tags::Tag;
use super::super::tokens::Attributes;
use super::super::walker::Closing;
use super::{Content, Doctype, FormPointer, Mode, Tree, metadata_content};

const SELECT: Stop = NotSure("a list of options");

impl<'a> Tree<'a> {
    pub(super) fn start_in_body(
        &mut self,
        tag: Tag,
        name: &'a [u8],
        attributes: &Attributes<'a>,
    ) -> Result<Content, Stop> {
        if self.is_open(Tag::Select) {
            return self.start_in_select(tag, attributes);
        }
        match tag {
            Tag::P => self.close_paragraph()?,
            _ if tag.is_plain_block() => self.close_paragraph()?,
            Tag::Span | Tag::Other | Tag::Abbr | Tag::Ruby | Tag::Legend => self.reconstruct()?,
            Tag::Audio | Tag::Video | Tag::Noscript => self.reconstruct()?,
            _ if tag.is_drawn() => self.reconstruct()?,
            _ if tag.is_formatting() => {
                self.insert_formatting(tag, attributes)?;
                return Ok(Content::Markup);
            }
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
            Tag::Button => {
                self.end_in_scope(tag)?;
                self.reconstruct()?;
            }
            Tag::Select => self.reconstruct()?,
            Tag::Object | Tag::Applet | Tag::Marquee => {
                self.reconstruct()?;
                self.active.push_marker();
            }
            Tag::Table => self.start_table()?,
            Tag::Rb | Tag::Rtc | Tag::Rp | Tag::Rt => self.start_annotation(tag)?,
            _ => return self.start_without_markup(tag, attributes),
        }
        self.insert(tag, name, attributes)?;
        Ok(Content::Markup)
    }

    /// Open an element that has no content, or text only.
    fn start_without_markup(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Content, Stop> {
        match tag {
            Tag::Image => return self.start_without_markup(Tag::Img, attributes),
            Tag::Html => self.merge_html(attributes)?,
            Tag::Body if attributes.raw("background").is_some() => return Err(NotSure("a second <body>")),
            Tag::Body | Tag::Head | Tag::Frame => (),
            _ if tag.is_table_part() => (),
            Tag::Hr => {
                self.close_paragraph()?;
                return self.insert_void(tag, attributes);
            }
            Tag::Area | Tag::Br | Tag::Embed | Tag::Img | Tag::Keygen | Tag::Wbr | Tag::Input => {
                self.reconstruct()?;
                return self.insert_void(tag, attributes);
            }
            _ if tag.is_void() => return self.insert_void(tag, attributes),
            Tag::Title | Tag::Script | Tag::Style | Tag::Iframe | Tag::Noembed => {
                self.walker.open(tag, attributes)?;
                return Ok(metadata_content(tag));
            }
            Tag::Textarea => {
                self.insert(tag, b"", attributes)?;
                return Ok(Content::Textarea);
            }
            Tag::Svg => {
                self.reconstruct()?;
                return Ok(Content::Drawing);
            }
            _ => return Err(NotSure("an element that moves others")),
        }
        Ok(Content::Markup)
    }

    /// Open a part of a ruby annotation.
    fn start_annotation(&mut self, tag: Tag) -> Result<(), Stop> {
        if self.find_in_scope(Tag::Ruby).is_none() {
            return Ok(());
        }
        let stays = if matches!(tag, Tag::Rp | Tag::Rt) {
            Tag::Rtc
        } else {
            Tag::Other
        };
        self.pop_implied(stays)
    }

    pub(super) fn start_table(&mut self) -> Result<(), Stop> {
        match self.doctype {
            Doctype::Standard => self.close_paragraph()?,
            Doctype::Unknown if self.find_paragraph().is_some() => return Err(NotSure("a table in a paragraph")),
            _ => (),
        }
        self.mode = Mode::InTable;
        Ok(())
    }

    pub(super) fn start_in_select(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Content, Stop> {
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
    pub(super) fn close_item(&mut self, items: &[Tag]) -> Result<(), Stop> {
        let is_item = |tag: Tag| items.contains(&tag);
        let ends_list = |tag: Tag| tag.is_special() && !matches!(tag, Tag::Address | Tag::Div | Tag::P);
        if items.iter().any(|item| self.is_open(*item))
            && let Some(at) = self.find(is_item, ends_list)
        {
            self.close(at)?;
        }
        self.close_paragraph()
    }

    pub(super) fn end_in_body(&mut self, tag: Tag, name: &[u8]) -> Result<(), Stop> {
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
            _ if tag.is_formatting() => self.adopt(tag),
            _ => self.end_ordinary(tag, name),
        }
    }

    pub(super) fn end_in_scope(&mut self, tag: Tag) -> Result<(), Stop> {
        self.find_in_scope(tag).map_or(Ok(()), |at| self.close(at))
    }

    pub(super) fn end_in_select(&mut self, tag: Tag) -> Result<(), Stop> {
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
    pub(super) fn end_paragraph(&mut self) -> Result<(), Stop> {
        if self.find_paragraph().is_none() {
            self.insert(Tag::P, b"", &Attributes::default())?;
        }
        self.close_paragraph()
    }

    pub(super) fn end_form(&mut self) -> Result<(), Stop> {
        let before = std::mem::replace(&mut self.form, FormPointer::None);
        if before != FormPointer::Open {
            return Ok(());
        }
        let Some(at) = self.find_in_scope(Tag::Form) else {
            return Ok(());
        };
        self.pop_implied(Tag::Other)?;
        if at + 1 == self.stack.len() {
            return self.pop();
        }
        // The form leaves the stack alone; it ends where the element inside it ends.
        let inside = &mut self.stack[at + 1];
        match inside.closing {
            Closing::Nothing | Closing::Block if inside.formatting == 0 => inside.closing = Closing::Block,
            _ => return Err(NotSure("a form that ends in an element")),
        }
        if self.stack.remove(at).closing != Closing::Block {
            return Err(NotSure("a form that is a landmark"));
        }
        self.counts[Tag::Form as usize] -= 1;
        Ok(())
    }

    pub(super) fn end_ordinary(&mut self, tag: Tag, name: &[u8]) -> Result<(), Stop> {
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
}
