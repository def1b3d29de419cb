//! The parts of the simulation: random plans, the world that outlives a daemon, and the daemon.

/// Totals of the results of runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    pub merged: u32,
    pub skipped: u32,
    pub persons: u32,
    pub deaths: u32,
    pub conflicts: u32,
    pub limits: u32,
    pub crashes: u32,
    pub reds: u32,
    /// Commits of others on the target, and runs that end with a target that waits for a person.
    pub foreign: u32,
    pub held: u32,
    /// Those commits that a session merged with the trunk and landed.
    pub resolved: u32,
    /// Those commits that another author merged meanwhile.
    pub overtaken: u32,
    pub resets: u32,
}

impl Ends {
    pub(crate) fn add(&mut self, other: &Ends) {
        self.merged += other.merged;
        self.skipped += other.skipped;
        self.persons += other.persons;
        self.deaths += other.deaths;
        self.conflicts += other.conflicts;
        self.limits += other.limits;
        self.crashes += other.crashes;
        self.reds += other.reds;
        self.foreign += other.foreign;
        self.held += other.held;
        self.resolved += other.resolved;
        self.overtaken += other.overtaken;
        self.resets += other.resets;
    }
}
