//! The order of candidates, best first, as `order_candidates` in `search/rank.py` defines it.

use std::cmp::Ordering;

/// A candidate, as the order sees it.
#[derive(Clone, Copy)]
pub struct Candidate {
    pub number: usize, // among the candidates
    pub has_all: bool, // whether the page has everything wanted
    pub score: f64,    // rounded
    pub twin: u64,
    pub id: i64,
    pub host: i64,
}

/// Return the candidates in order, each with the factor of its score.
///
/// `factors` has the factor of a host's first hit, its second, and so on. Other hosts come in between that way.
pub fn order(mut candidates: Vec<Candidate>, factors: &[f64]) -> Vec<(Candidate, f64)> {
    candidates.sort_by(|one, other| compare(one, other, one.score, other.score));
    let mut ordered: Vec<(Candidate, f64)> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let earlier = ordered.iter().filter(|(one, _)| one.host == candidate.host).count();
        ordered.push((candidate, factors[earlier]));
    }
    ordered.sort_by(|one, other| compare(&one.0, &other.0, one.0.score * one.1, other.0.score * other.1));
    ordered
}

/// Everything wanted first, then higher scores, then lower twin numbers, then lower ids.
fn compare(one: &Candidate, other: &Candidate, score: f64, other_score: f64) -> Ordering {
    (other.has_all.cmp(&one.has_all))
        .then_with(|| other_score.partial_cmp(&score).unwrap_or(Ordering::Equal))
        .then_with(|| (one.twin, one.id).cmp(&(other.twin, other.id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_hosts_come_in_between() {
        let scores = [(0.9, true, 1), (0.88, true, 1), (0.85, true, 2), (1.0, false, 3)];
        let candidates = scores.iter().enumerate().map(|(number, &(score, has_all, host))| {
            let id = number as i64;
            Candidate {
                number,
                has_all,
                score,
                twin: 0,
                id,
                host,
            }
        });
        let ordered = order(candidates.collect(), &[1.0, 0.9, 0.81, 0.729]);
        let numbers: Vec<usize> = ordered.iter().map(|(one, _)| one.number).collect();
        assert_eq!(numbers, [0, 2, 1, 3]);
        assert_eq!(ordered[2].1, 0.9);
    }
}
