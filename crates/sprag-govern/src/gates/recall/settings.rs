//! Settings of the recall gate.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub strategy: Strategy,
    /// 0 uses the number of the strategy.
    pub max_injections: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { strategy: Strategy::Moderate, max_injections: 0 }
    }
}

/// The minimum relevance of a shown learning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    Off,
    Conservative,
    Moderate,
    Aggressive,
}

impl Strategy {
    /// Returns the minimum probability that a learning helps.
    pub fn floor(self) -> f32 {
        match self {
            Strategy::Off => f32::INFINITY,
            Strategy::Conservative => 0.60,
            Strategy::Moderate => 0.40,
            Strategy::Aggressive => 0.25,
        }
    }

    /// Returns the maximum number of learnings at a time.
    pub fn most(self) -> usize {
        match self {
            Strategy::Off => 0,
            Strategy::Conservative => 3,
            Strategy::Moderate => 5,
            Strategy::Aggressive => 10,
        }
    }

    /// Returns the factor for the influence of age on a score.
    pub fn recency_width(self) -> f32 {
        match self {
            Strategy::Off | Strategy::Moderate => 1.0,
            Strategy::Conservative => 0.7,
            Strategy::Aggressive => 1.3,
        }
    }

    /// Returns the factor for the influence of use on a score.
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
# Learnings of earlier sessions that Sprag shows where they may help.
[retrieval]
# Required relevance: `conservative` shows at most 3 learnings, `moderate` 5, `aggressive` 10, `off` none.
strategy = \"moderate\"
# Show at most this many at a time; 0 uses the number of the strategy.
max_injections = 0
",
    keys: &[
        SettingKey { name: "strategy", tighten: Tighten::Never },
        SettingKey { name: "max_injections", tighten: Tighten::Never },
    ],
};
