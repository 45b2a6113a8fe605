//! Columns of numbers, which cross the border as bytes.

/// Read a column of little-endian uint32.
pub fn integers(column: &[u8]) -> impl Iterator<Item = u32> {
    column.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_little_endian() {
        assert_eq!(integers(&[1, 0, 0, 0, 0, 1, 0, 0]).collect::<Vec<_>>(), [1, 256]);
    }
}
