//! Formatting elements: opened again where an end tag closed them too early (WHATWG HTML §13.2.4.3, §13.2.6.4.7).
//!
//! The walker does not see them, except anchors. So their copies change nothing but the stack of open elements.

use super::super::Stop::{self, NotSure};
use super::super::tags::Tag;
use super::super::tokens::Attributes;
use super::super::walker::Closing;
use super::{OpenElement, Tree};

const SAME_ELEMENTS: usize = 3; // the Noah's Ark clause removes one that is equal to three others
const MAX_ADOPTIONS: usize = 8; // by one end tag
const KEPT_NODES: usize = 3; // formatting elements inside that an adoption keeps
const ANCHOR: Stop = NotSure("an anchor that another element interleaves with");

/// An element of the list; one with the number 0 is a marker.
#[derive(Clone, Copy)]
struct Active {
    tag: Tag,
    number: u32,
    is_open: bool, // on the stack
    is_link: bool, // the walker sees it
}

/// The list of active formatting elements.
#[derive(Default)]
pub struct ActiveFormatting {
    list: Vec<Active>,
    last_number: u32,
}

impl ActiveFormatting {
    pub fn push_marker(&mut self) {
        self.list.push(Active {
            tag: Tag::Other,
            number: 0,
            is_open: false,
            is_link: false,
        });
    }

    pub fn clear_to_marker(&mut self) {
        while self.list.pop().is_some_and(|active| active.number != 0) {}
    }

    pub fn set_open(&mut self, number: u32, is_open: bool) {
        if let Some(at) = self.find_number(number) {
            self.list[at].is_open = is_open;
        }
    }

    fn find_number(&self, number: u32) -> Option<usize> {
        if number == 0 {
            None
        } else {
            self.list.iter().rposition(|active| active.number == number)
        }
    }

    /// Return the elements behind the last marker.
    fn current(&self) -> &[Active] {
        let start = self
            .list
            .iter()
            .rposition(|active| active.number == 0)
            .map_or(0, |at| at + 1);
        &self.list[start..]
    }

    /// Return where the last such element behind the last marker is.
    fn find(&self, tag: Tag) -> Option<usize> {
        let current = self.current();
        let at = current.iter().rposition(|active| active.tag == tag)?;
        Some(self.list.len() - current.len() + at)
    }
}

impl<'a> Tree<'a> {
    /// Open a formatting element.
    pub(super) fn insert_formatting(&mut self, tag: Tag, attributes: &Attributes<'a>) -> Result<(), Stop> {
        if tag == Tag::A && self.active.find(tag).is_some() {
            self.adopt(tag)?;
        }
        self.reconstruct()?;
        if tag == Tag::Nobr && self.find_in_scope(tag).is_some() {
            self.adopt(tag)?;
            self.reconstruct()?;
        }
        if tag == Tag::A && self.is_open(tag) {
            return Err(ANCHOR);
        }
        if self.active.current().iter().filter(|active| active.tag == tag).count() >= SAME_ELEMENTS {
            return Err(NotSure("many equal formatting elements"));
        }
        self.insert(tag, b"", attributes)?;
        self.active.last_number += 1;
        let number = self.active.last_number;
        if let Some(element) = self.stack.last_mut() {
            element.formatting = number;
        }
        let is_link = tag == Tag::A && attributes.raw("href").is_some();
        self.active.list.push(Active {
            tag,
            number,
            is_open: true,
            is_link,
        });
        Ok(())
    }

    /// Open the active formatting elements again that are closed.
    pub(super) fn reconstruct(&mut self) -> Result<(), Stop> {
        if self
            .active
            .list
            .last()
            .is_none_or(|last| last.number == 0 || last.is_open)
        {
            return Ok(());
        }
        let start = self
            .active
            .list
            .iter()
            .rposition(|active| active.number == 0 || active.is_open);
        for at in start.map_or(0, |at| at + 1)..self.active.list.len() {
            let Active {
                tag, number, is_link, ..
            } = self.active.list[at];
            if is_link {
                return Err(ANCHOR);
            }
            self.push(tag, b"", Closing::Nothing)?;
            if let Some(element) = self.stack.last_mut() {
                element.formatting = number;
            }
            self.active.list[at].is_open = true;
        }
        Ok(())
    }

    /// End a formatting element: the adoption agency algorithm.
    pub(super) fn adopt(&mut self, tag: Tag) -> Result<(), Stop> {
        if let Some(top) = self.stack.last()
            && top.tag == tag
            && self.active.find_number(top.formatting).is_none()
        {
            return self.pop();
        }
        for _ in 0..MAX_ADOPTIONS {
            let Some(listed) = self.active.find(tag) else {
                return self.end_ordinary(tag, b"");
            };
            let Active { number, is_open, .. } = self.active.list[listed];
            let at = self.stack.iter().rposition(|element| element.formatting == number);
            let Some(at) = at.filter(|_| is_open) else {
                self.active.list.remove(listed);
                return Ok(());
            };
            let inside = &self.stack[at + 1..];
            if inside.iter().any(|element| element.tag.is_scope()) {
                return Ok(());
            }
            let Some(block) = inside.iter().position(|element| element.tag.is_special()) else {
                self.active.list.remove(listed);
                return self.close(at);
            };
            self.move_block(listed, at, at + 1 + block)?;
        }
        Ok(())
    }

    /// Move a block out of a formatting element, which continues inside the block.
    fn move_block(&mut self, listed: usize, at: usize, block: usize) -> Result<(), Stop> {
        let around = self.stack[at - 1].tag;
        let Active { number, is_link, .. } = self.active.list[listed];
        if is_link || around == Tag::Table || (around.is_table_part() && !around.is_scope()) {
            return Err(ANCHOR);
        }
        let mut block = block;
        let mut bookmark = None; // the formatting element next to the block
        for (count, inner) in (at + 1..block).rev().enumerate() {
            let OpenElement {
                tag,
                formatting,
                closing,
                ..
            } = self.stack[inner];
            let listed = self.active.find_number(formatting);
            if listed.is_some_and(|listed| self.active.list[listed].is_link) {
                return Err(ANCHOR);
            }
            if listed.is_some() && count < KEPT_NODES {
                bookmark = if count == 0 { Some(formatting) } else { bookmark };
                continue;
            }
            if closing != Closing::Nothing {
                return Err(NotSure("a block in an odd element"));
            }
            if let Some(listed) = listed {
                self.active.list.remove(listed);
            }
            self.stack.remove(inner);
            self.counts[tag as usize] -= 1;
            block -= 1;
        }
        let Some(listed) = self.active.find_number(number) else {
            return Ok(());
        };
        let active = self.active.list.remove(listed);
        let place = bookmark
            .and_then(|number| self.active.find_number(number))
            .map_or(listed, |near| near + 1);
        self.active.list.insert(place, active);
        let element = self.stack.remove(at);
        self.stack.insert(block, element);
        Ok(())
    }
}
