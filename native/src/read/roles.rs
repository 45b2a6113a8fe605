//! Elements that are landmarks by their role (`_positions_by_role` of html.py).

use memchr::{memmem, memrchr};

const LANDMARK_TAGS: [&[u8]; 5] = [b"<nav", b"<header", b"<footer", b"<aside", b"<main"];

/// Return the position that a role stands for.
pub fn position_by_role(role: &str) -> Option<u8> {
    match role {
        "navigation" => Some(1),
        "banner" => Some(2),
        "contentinfo" => Some(3),
        "complementary" => Some(4),
        "main" => Some(0),
        _ => None,
    }
}

/// Return whether a role may make an element a landmark: roles of `<nav>` and the like do not count.
pub fn has_roles(html: &[u8]) -> bool {
    let mut tag = None; // the last "<" before a role
    let mut searched = 0;
    for at in memmem::find_iter(html, b"role=") {
        tag = memrchr(b'<', &html[searched..at]).map(|found| searched + found).or(tag);
        searched = at;
        let is_in_landmark = tag.is_some_and(|tag| LANDMARK_TAGS.iter().any(|name| html[tag..].starts_with(name)));
        if begins_like_landmark(&html[at + 5..]) && !is_in_landmark {
            return true;
        }
    }
    false
}

/// Return whether a value, in quotes or not, begins with the first letter of a role that is a landmark.
fn begins_like_landmark(value: &[u8]) -> bool {
    let start = &value[..value.len().min(2)];
    let unquoted = start.iter().find(|byte| !matches!(byte, b'"' | b'\''));
    matches!(unquoted, Some(b'n' | b'b' | b'c' | b'm'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_roles_outside_of_landmarks_count() {
        assert!(has_roles(b"<div role=\"main\">"));
        assert!(has_roles(b"<nav role=navigation><div role='banner'>"));
        assert!(!has_roles(b"<nav role=\"navigation\">"));
        assert!(!has_roles(b"<div role=\"search\">"));
    }
}
