//! The URLs in a `srcset` (`srcset_urls` of links.py).

use super::Stop::{self, NotSure};

const MAX_CANDIDATES: usize = 64; // each is compared with all before it

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'\x0b')
}

/// Return the distinct URLs in their order.
pub fn srcset_urls(value: &str) -> Result<Vec<String>, Stop> {
    let bytes = value.as_bytes();
    let mut urls: Vec<String> = Vec::new();
    let mut at = 0;
    loop {
        while at < bytes.len() && (is_blank(bytes[at]) || bytes[at] == b',') {
            at += 1;
        }
        let start = at;
        while at < bytes.len() && !is_blank(bytes[at]) {
            at += 1;
        }
        if at == start {
            return Ok(urls);
        }
        let url = &value[start..at];
        if !url.ends_with(',') {
            at = skip_descriptors(bytes, at);
        }
        let url = url.trim_end_matches(',');
        if !urls.iter().any(|known| known == url) {
            if urls.len() == MAX_CANDIDATES {
                return Err(NotSure("a long srcset"));
            }
            urls.push(url.to_owned());
        }
    }
}

/// Return where the descriptors of a candidate end: at a comma outside of parentheses.
fn skip_descriptors(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b',' {
        if bytes[at] == b'(' {
            while at < bytes.len() && bytes[at] != b')' {
                at += 1;
            }
        }
        at = (at + 1).min(bytes.len());
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates() {
        assert_eq!(
            srcset_urls("a 1x, b 2x,c, d(1,2) (3,4) , a").unwrap(),
            ["a", "b", "c", "d(1,2)"]
        );
        assert!(srcset_urls(" , ").unwrap().is_empty());
    }
}
