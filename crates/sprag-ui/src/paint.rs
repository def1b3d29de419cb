//! Colours of the screen. Each fact is also in words.

use ratatui::style::{Color, Modifier, Style};

use sprag_plan::view::StateTone;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Colours,
    Plain,
}

impl Paint {
    pub fn tone(self, tone: StateTone) -> Style {
        let colour = match tone {
            StateTone::Running => Color::Blue,
            StateTone::Done => Color::Green,
            StateTone::Blocked => Color::Red,
            StateTone::Waiting => Color::Gray,
            StateTone::Ready => Color::Cyan,
            StateTone::Warning => Color::Yellow,
        };
        self.colour(colour)
    }

    /// Returns the style for context usage.
    pub fn context(self, percent: Option<u8>) -> Style {
        match percent {
            None => Style::new(),
            Some(0..60) => self.tone(StateTone::Done),
            Some(60..75) => self.tone(StateTone::Warning),
            Some(_) => self.tone(StateTone::Blocked),
        }
    }

    fn colour(self, colour: Color) -> Style {
        match self {
            Paint::Colours => Style::new().fg(colour),
            Paint::Plain => Style::new(),
        }
    }

    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub fn head(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}
