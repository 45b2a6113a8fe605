//! The stack of open elements (WHATWG HTML §13.2.4.2).

use super::super::Stop::{self, NotSure};
use super::super::tags::Tag;
use super::super::tokens::Attributes;
use super::super::walker::Closing;
use super::{Content, FormPointer, OpenElement, Tree};

const MAX_DEPTH: usize = 200; // open elements: an end tag may search them all

impl<'a> Tree<'a> {
    pub(super) fn insert(&mut self, tag: Tag, name: &'a [u8], attributes: &Attributes<'a>) -> Result<(), Stop> {
        let closing = self.walker.open(tag, attributes)?;
        self.push(tag, name, closing)
    }

    pub(super) fn insert_void(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<Content, Stop> {
        let closing = self.walker.open(tag, attributes)?;
        self.walker.close(closing)?;
        Ok(Content::Markup)
    }

    pub(super) fn push(&mut self, tag: Tag, name: &'a [u8], closing: Closing) -> Result<(), Stop> {
        if self.stack.len() == MAX_DEPTH {
            return Err(NotSure("deep nesting"));
        }
        self.counts[tag as usize] += 1;
        self.stack.push(OpenElement {
            tag,
            name,
            closing,
            formatting: 0,
        });
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Result<(), Stop> {
        let Some(element) = self.stack.pop() else { return Ok(()) };
        self.counts[element.tag as usize] -= 1;
        self.active.set_open(element.formatting, false);
        if element.tag == Tag::Form && self.form == FormPointer::Open {
            self.form = FormPointer::Left;
        }
        self.walker.close(element.closing)
    }

    pub(super) fn top(&self) -> Tag {
        self.stack.last().map_or(Tag::Other, |element| element.tag)
    }

    pub(super) fn is_open(&self, tag: Tag) -> bool {
        self.counts[tag as usize] > 0
    }

    /// Return where the innermost such element is, unless one that separates is inside it.
    pub(super) fn find(&self, wanted: impl Fn(Tag) -> bool, separates: impl Fn(Tag) -> bool) -> Option<usize> {
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

    pub(super) fn find_in_scope(&self, tag: Tag) -> Option<usize> {
        if self.is_open(tag) {
            self.find(|open| open == tag, Tag::is_scope)
        } else {
            None
        }
    }

    pub(super) fn find_in_table(&self, tag: Tag) -> Option<usize> {
        if self.is_open(tag) {
            self.find(|open| open == tag, |open| open == Tag::Table)
        } else {
            None
        }
    }

    pub(super) fn find_paragraph(&self) -> Option<usize> {
        if !self.is_open(Tag::P) {
            return None;
        }
        self.find(|open| open == Tag::P, |open| open.is_scope() || open == Tag::Button)
    }

    pub(super) fn pop_implied(&mut self, except: Tag) -> Result<(), Stop> {
        while self.top().has_implied_end() && self.top() != except {
            self.pop()?;
        }
        Ok(())
    }

    /// Close an element and all inside it. Formatting elements inside are opened again behind it (`reconstruct`).
    pub(super) fn close(&mut self, at: usize) -> Result<(), Stop> {
        while self.stack.len() > at {
            self.pop()?;
        }
        Ok(())
    }

    /// Close an element that formatting elements inside do not leave: a cell, a caption, an object.
    pub(super) fn close_with_formatting(&mut self, at: usize) -> Result<(), Stop> {
        if self.stack[at + 1..].iter().any(|element| element.tag.is_scope()) {
            return Err(NotSure("an object left open"));
        }
        self.close(at)?;
        self.active.clear_to_marker();
        Ok(())
    }

    pub(super) fn close_paragraph(&mut self) -> Result<(), Stop> {
        match self.find_paragraph() {
            Some(at) => self.close(at),
            None => Ok(()),
        }
    }
}
