//! Maps keys and mouse events to actions.

use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEventKind,
};

use crate::cursor::CursorStep;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyAction {
    Quit,
    Move(CursorStep),
    /// Click at this line of the screen.
    Click(u16),
    Attach,
    Redraw,
    Nothing,
}

pub(crate) fn meaning(event: &Event) -> KeyAction {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => of_key(*key),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => KeyAction::Move(CursorStep::Up),
            MouseEventKind::ScrollDown => KeyAction::Move(CursorStep::Down),
            MouseEventKind::Down(MouseButton::Left) => KeyAction::Click(mouse.row),
            _ => KeyAction::Nothing,
        },
        Event::Resize(..) => KeyAction::Redraw,
        _ => KeyAction::Nothing,
    }
}

fn of_key(key: KeyEvent) -> KeyAction {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'd') if is_control => KeyAction::Quit,
        KeyCode::Char('l') if is_control => KeyAction::Redraw,
        KeyCode::Char('q') | KeyCode::Esc => KeyAction::Quit,
        KeyCode::Up | KeyCode::Char('k') => KeyAction::Move(CursorStep::Up),
        KeyCode::Down | KeyCode::Char('j') => KeyAction::Move(CursorStep::Down),
        KeyCode::PageUp => KeyAction::Move(CursorStep::PageUp),
        KeyCode::PageDown => KeyAction::Move(CursorStep::PageDown),
        KeyCode::Home => KeyAction::Move(CursorStep::First),
        KeyCode::End => KeyAction::Move(CursorStep::Last),
        KeyCode::Enter => KeyAction::Attach,
        _ => KeyAction::Nothing,
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
            assert_eq!(key(code, none), KeyAction::Quit);
        }
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), KeyAction::Quit);
        assert_eq!(key(KeyCode::Char('c'), none), KeyAction::Nothing);
        assert_eq!(key(KeyCode::End, none), KeyAction::Move(CursorStep::Last));
        assert_eq!(key(KeyCode::Enter, none), KeyAction::Attach);
    }
}
