//! HTML and its URL -> links, text by field, metadata: the fast way beside `parse/readers/html.py`.
//!
//! The reader reads ordinary markup exactly as Lexbor's tree gives it to `HtmlWalker`, without building a tree. It reports
//! `NotSure` for all that needs one, and Python reads that page. Every byte is read once, nesting is limited.
//!
//! ```text
//! tokens       where tags, comments and raw text begin and end
//! references   &amp; and the like
//! tags         the elements of HTML
//! tree         open elements and insertion modes
//! cut          where markup becomes too expensive for a tree
//! walker       links, metadata and blocks of text
//! links        links merged into rows
//! packed_links their columns
//! urls         hrefs resolved, digests
//! ```

mod blanks;
mod cut;
mod links;
mod packed_links;
mod page;
mod reader;
mod reference_names;
mod references;
mod roles;
mod runs;
mod srcset;
mod tags;
mod tokens;
mod tree;
mod urls;
mod walker;

pub use page::register;

/// Why the reader stops before the end of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The page needs a real tree; the text says which part of it.
    NotSure(&'static str),
    WorkLimit,
}

impl From<crate::border::WorkLimitReached> for Stop {
    fn from(_: crate::border::WorkLimitReached) -> Self {
        Stop::WorkLimit
    }
}
