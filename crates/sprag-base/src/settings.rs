//! The form of the configuration: sections, keys, and the direction in which an untrusted project may
//! change a key.

/// A name in a list of the configuration. Built-in names are borrowed, because every hook creates the
/// defaults.
pub type SettingName = std::borrow::Cow<'static, str>;

/// One section of the configuration file.
pub struct SettingSection {
    pub name: &'static str,
    /// Commented TOML that names every key once.
    pub defaults: &'static str,
    pub keys: &'static [SettingKey],
}

pub struct SettingKey {
    pub name: &'static str,
    pub tighten: Tighten,
}

/// The direction in which an untrusted project may change a key. A cloned repository must not weaken the
/// protection of its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tighten {
    Never,
    Higher,
    Lower,
    /// A list that may only get more items.
    More,
    /// Names in order, from loose to strict.
    Ranked(&'static [&'static str]),
}

impl Tighten {
    pub fn sentence(self) -> String {
        match self {
            Tighten::Never => "only once it is trusted".to_owned(),
            Tighten::Higher => "to a higher value".to_owned(),
            Tighten::More => "to more items".to_owned(),
            Tighten::Lower => "to a lower value".to_owned(),
            Tighten::Ranked(names) => format!("towards `{}`", names.last().unwrap_or(&"")),
        }
    }
}

/// Serializes settings that equal the default as one byte, because every hook reads the compiled
/// configuration.
pub mod lean {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<P: Serialize + PartialEq + Default, S: Serializer>(
        policy: &P,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            policy.serialize(serializer)
        } else {
            Some(policy).filter(|policy| **policy != P::default()).serialize(serializer)
        }
    }

    pub fn deserialize<'de, P: Deserialize<'de> + Default, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<P, D::Error> {
        if deserializer.is_human_readable() {
            P::deserialize(deserializer)
        } else {
            Ok(Option::<P>::deserialize(deserializer)?.unwrap_or_default())
        }
    }
}
