//! The elements of HTML by name, and what tree construction needs to know of each (WHATWG HTML §13.2.4.2).

/// The last eight bytes of a name, in lower case, as a number.
const fn packed(name: &[u8]) -> u64 {
    let mut value = 0;
    let mut at = 0;
    while at < name.len() {
        value = value << 8 | name[at].to_ascii_lowercase() as u64;
        at += 1;
    }
    value
}

macro_rules! tags {
    ($($variant:ident $name:literal $flags:expr;)*) => {
        /// An element. `Other` stands for all that HTML does not treat specially, and for unknown names.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Tag { $($variant,)* Other }

        const FLAGS: &[u16] = &[$($flags,)* 0];
        pub const NAMES: &[&str] = &[$($name,)* ""];

        #[allow(non_upper_case_globals)]
        mod numbers { $(pub const $variant: u64 = super::packed($name.as_bytes());)* }

        fn find_number(number: u64) -> Tag {
            match number {
                $(numbers::$variant => Tag::$variant,)*
                _ => Tag::Other,
            }
        }
    };
}

const SPECIAL: u16 = 1; // ends the search for the element of an end tag
const FORMATTING: u16 = 2; // opened again in the next paragraph if it is not closed
const IMPLIED: u16 = 4; // its end tag may be left out
const SCOPE: u16 = 8; // end tags inside do not close elements outside
const P_ENDS: u16 = 16; // its start ends an open paragraph; an ordinary block otherwise
const HEADING: u16 = 32;
const BLOCK: u16 = 64; // separates blocks of text: `_BLOCK_ELEMENTS` of elements.py
const VOID: u16 = 128; // has no content and no end tag
const TABLE_PART: u16 = 256; // means something inside a table only
const DRAWN: u16 = 512; // part of a drawing, without text or links of its own

const S: u16 = SPECIAL;
const PLAIN_BLOCK: u16 = SPECIAL | P_ENDS | BLOCK;

tags! {
    A "a" FORMATTING; Abbr "abbr" 0; Address "address" PLAIN_BLOCK; Applet "applet" S | SCOPE; Area "area" S | VOID;
    Article "article" PLAIN_BLOCK; Aside "aside" S | P_ENDS; Audio "audio" 0;
    B "b" FORMATTING; Base "base" S | VOID; Basefont "basefont" S | VOID; Bgsound "bgsound" S | VOID;
    Big "big" FORMATTING; Blockquote "blockquote" PLAIN_BLOCK; Body "body" S; Br "br" S | VOID; Button "button" S | BLOCK;
    Caption "caption" S | SCOPE | BLOCK | TABLE_PART; Center "center" PLAIN_BLOCK; Code "code" FORMATTING;
    Col "col" S | VOID | TABLE_PART; Colgroup "colgroup" S | TABLE_PART;
    Datalist "datalist" 0; Dd "dd" S | IMPLIED | BLOCK; Details "details" PLAIN_BLOCK; Dialog "dialog" P_ENDS | BLOCK;
    Dir "dir" PLAIN_BLOCK; Div "div" PLAIN_BLOCK; Dl "dl" PLAIN_BLOCK; Dt "dt" S | IMPLIED | BLOCK;
    Em "em" FORMATTING; Embed "embed" S | VOID;
    Fieldset "fieldset" PLAIN_BLOCK; Figcaption "figcaption" PLAIN_BLOCK; Figure "figure" PLAIN_BLOCK;
    Font "font" FORMATTING; Footer "footer" S | P_ENDS; Form "form" S | BLOCK; Frame "frame" S | VOID;
    Frameset "frameset" S | BLOCK;
    H1 "h1" S | HEADING; H2 "h2" S | HEADING; H3 "h3" S | HEADING; H4 "h4" S | HEADING; H5 "h5" S | HEADING;
    H6 "h6" S | HEADING; Head "head" S; Header "header" S | P_ENDS; Hgroup "hgroup" PLAIN_BLOCK;
    Hr "hr" S | VOID | BLOCK; Html "html" S | SCOPE;
    I "i" FORMATTING; Iframe "iframe" S; Image "image" 0; Img "img" S | VOID; Input "input" S | VOID;
    Keygen "keygen" S | VOID;
    Legend "legend" BLOCK; Li "li" S | IMPLIED | BLOCK; Link "link" S | VOID; Listing "listing" S;
    Main "main" S | P_ENDS; Marquee "marquee" S | SCOPE; Math "math" 0; Menu "menu" PLAIN_BLOCK; Meta "meta" S | VOID;
    Nav "nav" S | P_ENDS; Nobr "nobr" FORMATTING; Noembed "noembed" S; Noframes "noframes" S;
    Noscript "noscript" S | BLOCK;
    Object "object" S | SCOPE; Ol "ol" PLAIN_BLOCK; Optgroup "optgroup" IMPLIED | BLOCK;
    Option "option" IMPLIED | BLOCK;
    P "p" S | IMPLIED; Param "param" S | VOID; Plaintext "plaintext" S; Pre "pre" PLAIN_BLOCK;
    Rb "rb" IMPLIED; Rp "rp" IMPLIED; Rt "rt" IMPLIED; Rtc "rtc" IMPLIED; Ruby "ruby" 0;
    Script "script" S; Search "search" PLAIN_BLOCK; Section "section" PLAIN_BLOCK; Select "select" S | BLOCK;
    Small "small" FORMATTING; Source "source" S | VOID; Span "span" 0; Strike "strike" FORMATTING;
    Strong "strong" FORMATTING; Style "style" S; Summary "summary" PLAIN_BLOCK; Svg "svg" 0; Strikethrough "s" FORMATTING;
    Table "table" S | SCOPE; Tbody "tbody" S | BLOCK | TABLE_PART; Td "td" S | SCOPE | BLOCK | TABLE_PART;
    Template "template" S | SCOPE; Textarea "textarea" S | BLOCK; Tfoot "tfoot" S | BLOCK | TABLE_PART;
    Th "th" S | SCOPE | BLOCK | TABLE_PART; Thead "thead" S | BLOCK | TABLE_PART; Title "title" S;
    Tr "tr" S | BLOCK | TABLE_PART; Track "track" S | VOID; Tt "tt" FORMATTING;
    U "u" FORMATTING; Ul "ul" PLAIN_BLOCK;
    Video "video" 0;
    Wbr "wbr" S | VOID;
    Xmp "xmp" S;
    Circle "circle" DRAWN; Defs "defs" DRAWN; Ellipse "ellipse" DRAWN; G "g" DRAWN; Line "line" DRAWN;
    Path "path" DRAWN; Polygon "polygon" DRAWN; Polyline "polyline" DRAWN; Rect "rect" DRAWN; Stop "stop" DRAWN;
    Symbol "symbol" DRAWN; Text "text" DRAWN; Tspan "tspan" DRAWN; Use "use" DRAWN;
}

impl Tag {
    /// Return the element of a name as written.
    pub fn find(name: &[u8]) -> Tag {
        let tag = find_number(packed(name));
        let known = NAMES[tag as usize].as_bytes();
        let is_same = known.len() == name.len() && (name.len() <= 8 || name.eq_ignore_ascii_case(known));
        if is_same { tag } else { Tag::Other }
    }

    fn has(self, flag: u16) -> bool {
        FLAGS[self as usize] & flag != 0
    }

    pub fn is_special(self) -> bool {
        self.has(SPECIAL)
    }

    pub fn is_formatting(self) -> bool {
        self.has(FORMATTING)
    }

    pub fn has_implied_end(self) -> bool {
        self.has(IMPLIED)
    }

    pub fn is_scope(self) -> bool {
        self.has(SCOPE)
    }

    pub fn is_plain_block(self) -> bool {
        self.has(P_ENDS)
    }

    pub fn is_heading(self) -> bool {
        self.has(HEADING)
    }

    pub fn is_block(self) -> bool {
        self.has(BLOCK)
    }

    pub fn is_void(self) -> bool {
        self.has(VOID)
    }

    pub fn is_table_part(self) -> bool {
        self.has(TABLE_PART)
    }

    pub fn is_drawn(self) -> bool {
        self.has(DRAWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case() {
        for name in NAMES.iter().filter(|name| !name.is_empty()) {
            let tag = Tag::find(name.as_bytes());
            assert_eq!(NAMES[tag as usize], *name);
            assert_eq!(Tag::find(name.to_uppercase().as_bytes()), tag);
        }
        assert_eq!(Tag::find(b"my-element"), Tag::Other);
        assert_eq!(Tag::find(b"ockquote"), Tag::Other);
        assert_eq!(Tag::find(b"x-ockquote"), Tag::Other);
    }
}
