//! Colours, where there are any. They say nothing that is not also said in words.

use ratatui::style::{Color, Modifier, Style};

use sprag_plan::view::Tone;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Colours,
    Plain,
}

impl Paint {
    pub fn tone(self, tone: Tone) -> Style {
        let colour = match tone {
            Tone::Running => Color::Blue,
            Tone::Done => Color::Green,
            Tone::Blocked => Color::Red,
            Tone::Waiting => Color::Gray,
            Tone::Ready => Color::Cyan,
            Tone::Warning => Color::Yellow,
        };
        self.colour(colour)
    }

    /// How full a context is.
    pub fn context(self, percent: Option<u8>) -> Style {
        match percent {
            None => Style::new(),
            Some(0..60) => self.tone(Tone::Done),
            Some(60..75) => self.tone(Tone::Warning),
            Some(_) => self.tone(Tone::Blocked),
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
