//! What may be shown of the memory.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub strategy: Strategy,
    /// 0: as many as the strategy says.
    pub max_injections: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { strategy: Strategy::Moderate, max_injections: 0 }
    }
}

/// How sure one has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    Off,
    Conservative,
    Moderate,
    Aggressive,
}

impl Strategy {
    /// The least probability of being of use.
    pub fn floor(self) -> f32 {
        match self {
            Strategy::Off => f32::INFINITY,
            Strategy::Conservative => 0.60,
            Strategy::Moderate => 0.40,
            Strategy::Aggressive => 0.25,
        }
    }

    /// Learnings on one occasion.
    pub fn most(self) -> usize {
        match self {
            Strategy::Off => 0,
            Strategy::Conservative => 3,
            Strategy::Moderate => 5,
            Strategy::Aggressive => 10,
        }
    }

    /// How far age moves a score, against the usual.
    pub fn recency_width(self) -> f32 {
        match self {
            Strategy::Off | Strategy::Moderate => 1.0,
            Strategy::Conservative => 0.7,
            Strategy::Aggressive => 1.3,
        }
    }

    /// How far use does.
    pub fn use_width(self) -> f32 {
        match self {
            Strategy::Off | Strategy::Moderate => 1.0,
            Strategy::Conservative => 1.3,
            Strategy::Aggressive => 0.7,
        }
    }
}

impl Settings {
    pub fn most(&self) -> usize {
        match self.max_injections {
            0 => self.strategy.most(),
            most => self.strategy.most().min(most as usize).max(usize::from(self.strategy != Strategy::Off)),
        }
    }
}

pub(crate) const SECTION: SettingSection = SettingSection {
    name: "retrieval",
    defaults: "\
# What earlier sessions learned is shown where it may help.
[retrieval]
# How sure one has to be: `conservative` shows at most 3 at a time, `moderate` 5, `aggressive` 10, `off` none.
strategy = \"moderate\"
# Fewer than that at a time; 0 leaves it to the strategy.
max_injections = 0
",
    keys: &[
        SettingKey { name: "strategy", tighten: Tighten::Never },
        SettingKey { name: "max_injections", tighten: Tighten::Never },
    ],
};
