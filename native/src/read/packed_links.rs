//! The links of a page as packed columns, the fields of `model.Links`.

use super::links::Row;
use super::urls::digests;

/// What stands for a digest that Python computes.
const NO_DIGEST: [u8; 16] = [0; 16];

#[derive(Default)]
pub struct PackedLinks {
    pub digests: Vec<u8>,
    pub marks: Vec<u8>, // of each row: kind, follow, position, zero, weight (uint32, little-endian)
    pub urls: String,   // each text after a line feed, which no text contains
    pub rels: String,
    pub anchors: String,
    pub missing: Vec<usize>, // rows without a digest
}

impl PackedLinks {
    /// Pack rows; `urls` are the distinct URLs that they refer to.
    pub fn pack(rows: &[Row<'_>], urls: &[String], has_rules: bool) -> Self {
        let known = digests(urls, has_rules);
        let mut packed = Self::default();
        packed.digests.reserve(NO_DIGEST.len() * rows.len());
        packed.marks.reserve(8 * rows.len());
        packed
            .urls
            .reserve(rows.iter().map(|row| urls[row.url as usize].len() + 1).sum());
        for (number, row) in rows.iter().enumerate() {
            let digest = known[row.url as usize];
            if digest.is_none() {
                packed.missing.push(number);
            }
            packed.digests.extend(digest.unwrap_or(NO_DIGEST));
            packed.marks.extend([row.kind, row.follow.into(), row.position, 0]);
            packed.marks.extend(row.weight.to_le_bytes());
            let columns = [
                (&mut packed.urls, urls[row.url as usize].as_str()),
                (&mut packed.rels, row.rel),
                (&mut packed.anchors, row.anchor),
            ];
            for (column, text) in columns {
                column.push('\n');
                column.push_str(text);
            }
        }
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(url: u32, anchor: &str) -> Row<'_> {
        Row {
            url,
            kind: 1,
            follow: true,
            anchor,
            rel: "",
            position: 3,
            weight: 258,
        }
    }

    #[test]
    fn columns_of_two_rows() {
        let urls = ["http://h/a".to_owned(), "http://h/?b".to_owned()];
        let packed = PackedLinks::pack(&[row(1, "one"), row(0, "")], &urls, true);
        assert_eq!(packed.marks, [1, 1, 3, 0, 2, 1, 0, 0, 1, 1, 3, 0, 2, 1, 0, 0]);
        assert_eq!(packed.urls, "\nhttp://h/?b\nhttp://h/a");
        assert_eq!((packed.anchors.as_str(), packed.rels.as_str()), ("\none\n", "\n\n"));
        assert_eq!((packed.missing, packed.digests.len()), (vec![0], 32));
    }
}
