//! The chosen line of a long list, and the part of the list on the screen.

use std::ops::Range;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    chosen: usize,
    top: usize,
    /// Number of lines on the screen when it was last drawn.
    page: usize,
}

/// A movement of the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorStep {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    /// The line at this offset from the first one on the screen.
    Shown(usize),
}

impl Cursor {
    pub fn step(&mut self, step: CursorStep) {
        let page = self.page.max(1);
        self.chosen = match step {
            CursorStep::Up => self.chosen.saturating_sub(1),
            CursorStep::Down => self.chosen.saturating_add(1),
            CursorStep::PageUp => self.chosen.saturating_sub(page),
            CursorStep::PageDown => self.chosen.saturating_add(page),
            CursorStep::First => 0,
            // The end is known only when the list is drawn.
            CursorStep::Last => usize::MAX,
            CursorStep::Shown(line) if line < self.page => self.top.saturating_add(line),
            CursorStep::Shown(_) => self.chosen,
        };
    }

    /// Returns the lines of a list with `total` lines to draw in `room` lines.
    pub fn window(&mut self, room: usize, total: usize) -> Range<usize> {
        self.page = room;
        self.chosen = self.chosen.min(total.saturating_sub(1));
        let lowest = (self.chosen + 1).saturating_sub(room);
        self.top = self.top.clamp(lowest, self.chosen.max(lowest)).min(total.saturating_sub(room));
        self.top..total.min(self.top.saturating_add(room))
    }

    pub fn chosen(&self) -> usize {
        self.chosen
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_list_moves_only_when_the_choice_would_leave_the_screen() {
        let mut cursor = Cursor::default();
        assert_eq!(cursor.window(3, 10), 0..3);
        cursor.step(CursorStep::Down);
        cursor.step(CursorStep::Down);
        assert_eq!(cursor.window(3, 10), 0..3);
        cursor.step(CursorStep::Down);
        assert_eq!((cursor.window(3, 10), cursor.chosen()), (1..4, 3));
        cursor.step(CursorStep::Up);
        assert_eq!((cursor.window(3, 10), cursor.chosen()), (1..4, 2));
        cursor.step(CursorStep::Last);
        assert_eq!((cursor.window(3, 10), cursor.chosen()), (7..10, 9));
        cursor.step(CursorStep::Shown(0));
        assert_eq!((cursor.window(3, 10), cursor.chosen()), (7..10, 7));
        assert_eq!((cursor.window(3, 2), cursor.chosen()), (0..2, 1), "a shorter list");
    }

    proptest! {
        #[test]
        fn what_is_chosen_is_on_the_screen(
            steps in proptest::collection::vec((0usize..7, 0usize..20, 0usize..30), 1..40),
        ) {
            let mut cursor = Cursor::default();
            for (step, room, total) in steps {
                let all = [CursorStep::Up, CursorStep::Down, CursorStep::PageUp, CursorStep::PageDown, CursorStep::First, CursorStep::Last, CursorStep::Shown(room)];
                cursor.step(all[step]);
                let window = cursor.window(room, total);
                prop_assert!(window.end <= total && window.len() <= room);
                prop_assert!(room == 0 || total == 0 || window.contains(&cursor.chosen()));
            }
        }
    }
}
