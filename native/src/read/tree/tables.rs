//! Tags in tables (WHATWG HTML §13.2.6.4.9 to §13.2.6.4.15).

use super::super::Stop;
use super::super::tags::Tag;
use super::super::tokens::Attributes;
use super::{Content, Mode, TABLE, Tree};

impl<'a> Tree<'a> {
    /// Open an element where a table has no text; None: the mode changed, and the tag comes again.
    pub(super) fn start_in_table(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Option<Content>, Stop> {
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
            if matches!(mode, Mode::InCell | Mode::InCaption) {
                self.active.push_marker();
            }
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
    pub(super) fn leave(&mut self, mode: Mode) -> Result<Option<Content>, Stop> {
        self.pop()?;
        self.mode = mode;
        Ok(None)
    }

    pub(super) fn close_cell(&mut self) -> Result<(), Stop> {
        if let Some(at) = self.find(|tag| matches!(tag, Tag::Td | Tag::Th), |_| false) {
            self.close_with_formatting(at)?;
        }
        self.mode = Mode::InRow;
        Ok(())
    }

    pub(super) fn close_caption(&mut self) -> Result<(), Stop> {
        if let Some(at) = self.find_in_table(Tag::Caption) {
            self.close_with_formatting(at)?;
        }
        self.mode = Mode::InTable;
        Ok(())
    }

    /// Handle an end tag between the parts of a table; false: the mode changed, and the tag comes again.
    pub(super) fn end_in_table(&mut self, tag: Tag) -> Result<bool, Stop> {
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

    pub(super) fn end_table(&mut self) -> Result<(), Stop> {
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

    pub(super) fn end_in_cell(&mut self, tag: Tag, name: &[u8]) -> Result<bool, Stop> {
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

    pub(super) fn end_in_caption(&mut self, tag: Tag, name: &[u8]) -> Result<bool, Stop> {
        match tag {
            Tag::Caption => self.close_caption().map(|()| true),
            Tag::Table => self.close_caption().map(|()| false),
            Tag::Body | Tag::Html => Ok(true),
            _ if tag.is_table_part() => Ok(true),
            _ => self.end_in_body(tag, name).map(|()| true),
        }
    }
}
