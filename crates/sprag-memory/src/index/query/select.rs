//! Selects the hits to show: the best ones, no two with the same statement, and sometimes one that was never
//! shown. A learning that is never shown can never prove useful.

/// The properties of a hit that the selection needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contender {
    pub probability: f32,
    pub is_new: bool,
    pub is_personal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectionLimits {
    pub floor: f32,
    pub most: usize,
}

/// Returns the selected indices into `contenders`, best first. The contenders are sorted by probability.
/// `alike` reports whether two of them say the same.
pub fn select(
    contenders: &[Contender],
    limits: SelectionLimits,
    alike: impl Fn(usize, usize) -> bool,
) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    let mut spare: Option<usize> = None;
    // At most one in five is personal, because a session is about its project.
    let personal_most = limits.most.div_ceil(5);
    for (at, contender) in contenders.iter().enumerate() {
        if contender.probability < limits.floor {
            break;
        }
        let personal = chosen.iter().filter(|chosen| contenders[**chosen].is_personal).count();
        if (contender.is_personal && personal >= personal_most)
            || chosen.iter().any(|other| alike(*other, at))
        {
            continue;
        }
        match chosen.len() < limits.most {
            true => chosen.push(at),
            false if contender.is_new => {
                spare = Some(at);
                break;
            }
            false => {}
        }
    }
    let is_any_new = chosen.iter().any(|at| contenders[*at].is_new);
    if let (Some(spare), false) = (spare, is_any_new)
        && chosen.len() > 1
    {
        chosen.pop();
        chosen.push(spare);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(probability: f32) -> Contender {
        Contender { probability, is_new: false, is_personal: false }
    }

    const LIMITS: SelectionLimits = SelectionLimits { floor: 0.4, most: 3 };

    #[test]
    fn below_the_floor_there_is_silence() {
        assert_eq!(select(&[contender(0.39)], LIMITS, |_, _| false), [0; 0]);
        assert_eq!(select(&[contender(0.4), contender(0.39)], LIMITS, |_, _| false), [0]);
    }

    #[test]
    fn two_that_say_the_same_are_never_together() {
        let all = [contender(0.9), contender(0.8), contender(0.7)];
        assert_eq!(select(&all, LIMITS, |a, b| (a, b) == (0, 1)), [0, 2]);
    }

    #[test]
    fn one_place_goes_to_something_new() {
        let new = Contender { is_new: true, ..contender(0.5) };
        let all = [contender(0.9), contender(0.8), contender(0.7), contender(0.6), new];
        assert_eq!(select(&all, LIMITS, |_, _| false), [0, 1, 4]);
        let all = [new, contender(0.45), contender(0.44), contender(0.43), new];
        assert_eq!(select(&all, LIMITS, |_, _| false), [0, 1, 2]);
        assert_eq!(select(&[contender(0.9), new], SelectionLimits { most: 1, ..LIMITS }, |_, _| false), [0]);
    }

    #[test]
    fn the_users_own_do_not_crowd_out_the_project() {
        let own = |probability| Contender { is_personal: true, ..contender(probability) };
        let all = [own(0.9), own(0.8), contender(0.7), contender(0.6)];
        assert_eq!(select(&all, LIMITS, |_, _| false), [0, 2, 3]);
    }
}
