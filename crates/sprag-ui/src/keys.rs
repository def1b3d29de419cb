//! What a key or the mouse means.

use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};

use crate::cursor::Step;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Quit,
    Move(Step),
    /// Of the row at this line of the screen.
    Click(u16),
    Attach,
    Redraw,
    Nothing,
}

pub fn meaning(event: &Event) -> Meaning {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => of_key(*key),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Meaning::Move(Step::Up),
            MouseEventKind::ScrollDown => Meaning::Move(Step::Down),
            MouseEventKind::Down(MouseButton::Left) => Meaning::Click(mouse.row),
            _ => Meaning::Nothing,
        },
        Event::Resize(..) => Meaning::Redraw,
        _ => Meaning::Nothing,
    }
}

fn of_key(key: KeyEvent) -> Meaning {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'd') if is_control => Meaning::Quit,
        KeyCode::Char('l') if is_control => Meaning::Redraw,
        KeyCode::Char('q') | KeyCode::Esc => Meaning::Quit,
        KeyCode::Up | KeyCode::Char('k') => Meaning::Move(Step::Up),
        KeyCode::Down | KeyCode::Char('j') => Meaning::Move(Step::Down),
        KeyCode::PageUp => Meaning::Move(Step::PageUp),
        KeyCode::PageDown => Meaning::Move(Step::PageDown),
        KeyCode::Home => Meaning::Move(Step::First),
        KeyCode::End => Meaning::Move(Step::Last),
        KeyCode::Enter => Meaning::Attach,
        _ => Meaning::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_mean_what_the_footer_says() {
        let key = |code, modifiers| meaning(&Event::Key(KeyEvent::new(code, modifiers)));
        let none = KeyModifiers::NONE;
        for code in [KeyCode::Char('q'), KeyCode::Esc] {
            assert_eq!(key(code, none), Meaning::Quit);
        }
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Meaning::Quit);
        assert_eq!(key(KeyCode::Char('c'), none), Meaning::Nothing);
        assert_eq!(key(KeyCode::End, none), Meaning::Move(Step::Last));
        assert_eq!(key(KeyCode::Enter, none), Meaning::Attach);
    }
}
