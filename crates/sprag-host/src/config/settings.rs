//! The typed settings of all domains. Each domain declares its own sections with commented defaults, which
//! are also the documentation.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten, lean};
use sprag_govern::settings::GovernSettings;
use sprag_govern::{breaker, gates};
use sprag_memory::lifecycle::decay;
use sprag_memory::{mirror, settings};
use sprag_plan::settings::{notify, terminal};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub govern: GovernSettings,
    pub retention: Retention,
    #[serde(with = "lean")]
    pub backends: mirror::MirrorSettings,
    #[serde(with = "lean")]
    pub decay: decay::DecaySettings,
    #[serde(with = "lean")]
    pub memory: settings::MemorySettings,
    #[serde(with = "lean")]
    pub terminal: terminal::TerminalSettings,
    #[serde(with = "lean")]
    pub notify: notify::NotifySettings,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    pub journal_events: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Retention { journal_events: 500 }
    }
}

const RETENTION: SettingSection = SettingSection {
    name: "retention",
    defaults: "\
# How long records stay in journals. Sprag moves records, but never drops them.
[retention]
# Move the journal of a session into the log after this many events.
journal_events = 500
",
    keys: &[SettingKey { name: "journal_events", tighten: Tighten::Never }],
};

/// Returns all sections, in the order of the reference.
pub fn sections() -> impl Iterator<Item = &'static SettingSection> {
    [&breaker::SECTION, &RETENTION, &settings::SECTION, &decay::SECTION]
        .into_iter()
        .chain(decay::MORE)
        .chain([&mirror::SECTION])
        .chain(mirror::MORE)
        .chain([&terminal::SECTION, &notify::SECTION])
        .chain(gates::ALL.iter().flat_map(|gate| std::iter::once(gate.section).chain(gate.more)))
}
