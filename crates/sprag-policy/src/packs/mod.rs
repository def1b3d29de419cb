//! Built-in rules as text; the host parses the TOML.

/// A named set of built-in rules.
#[derive(Clone, Copy, Debug)]
pub struct Pack {
    pub name: &'static str,
    pub about: &'static str,
    pub default: Switch,
    /// A [`super::RuleFile`].
    pub toml: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

pub const PACKS: &[Pack] = &[
    Pack {
        name: "core",
        about: "actions that cannot be undone: deleted roots, lost work, code from the network, devices",
        default: Switch::On,
        toml: include_str!("core.toml"),
    },
    Pack {
        name: "self",
        about: "files and switches of Sprag itself",
        default: Switch::On,
        toml: include_str!("self.toml"),
    },
    Pack {
        name: "secrets",
        about: "secrets that commands print or that the environment holds",
        default: Switch::On,
        toml: include_str!("secrets.toml"),
    },
    Pack {
        name: "places",
        about: "sensitive places: keys, start-up files, services, programs, logs and files of the system",
        default: Switch::On,
        toml: include_str!("places.toml"),
    },
    Pack {
        name: "flows",
        about: "data and control that leave the machine: remote shells, tunnels, the environment, fetched code",
        default: Switch::On,
        toml: include_str!("flows.toml"),
    },
    Pack {
        name: "system",
        about: "changes of the system and hidden traces: accounts, services, the firewall, logs, jobs",
        default: Switch::On,
        toml: include_str!("system.toml"),
    },
    Pack {
        name: "readonly",
        about: "commands that only read",
        default: Switch::On,
        toml: include_str!("readonly.toml"),
    },
    Pack {
        name: "cloud",
        about: "deleting cloud resources, stopping services",
        default: Switch::Off,
        toml: include_str!("cloud.toml"),
    },
    Pack {
        name: "iac",
        about: "destroying and applying infrastructure",
        default: Switch::Off,
        toml: include_str!("iac.toml"),
    },
    Pack {
        name: "database",
        about: "dropping and emptying databases and queues",
        default: Switch::Off,
        toml: include_str!("database.toml"),
    },
    Pack {
        name: "containers",
        about: "removing containers, images, volumes and cluster resources",
        default: Switch::Off,
        toml: include_str!("containers.toml"),
    },
    Pack {
        name: "packages",
        about: "publishing and unpublishing packages",
        default: Switch::Off,
        toml: include_str!("packages.toml"),
    },
    Pack {
        name: "ci",
        about: "deleting pipelines, repositories, releases and their settings",
        default: Switch::Off,
        toml: include_str!("ci.toml"),
    },
];
