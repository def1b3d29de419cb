//! Random numbers that depend only on the seed.

use serde_json::{Value, json};

use sprag_plan::spec::Plan;

pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end.max(1)
    }

    /// Returns true once in `times` calls on average.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        let at = usize::try_from(self.below(among.len() as u64)).unwrap();
        among.get(at)
    }

    /// Makes a plan whose stages depend on some of the stages before them.
    pub(crate) fn plan(&mut self) -> Plan {
        let count = 1 + self.below(9);
        let stages: Vec<Value> = (0..count).map(|at| self.stage(at)).collect();
        let plan = json!({
            "name": "sim", "target": null, "gates": [], "slots": 1 + self.below(4),
            "budget": {"on_exceed": "pause"}, "sandbox": {"confine": "auto", "network": "open"},
            "overview": "", "stages": stages,
        });
        serde_json::from_value(plan).unwrap()
    }

    fn stage(&mut self, at: u64) -> Value {
        let needs: Vec<String> = (0..at).filter(|_| self.once_in(3)).map(|need| format!("s{need}")).collect();
        let files = vec![format!("d{}/**", self.below(4))];
        let check =
            json!({"command": "true", "exit_code": 0, "stderr": "any", "timeout": "5m", "cache": "by_tree"});
        json!({
            "id": format!("s{at}"), "name": "", "description": "", "dependencies": needs,
            "parallel_group": if self.once_in(4) { json!({"name": "g", "max": 2}) } else { Value::Null },
            "type": "standard",
            "scope": {"intents": [], "files": files, "globs": files},
            "working_dir": ".", "setup": if self.once_in(3) { json!(["make"]) } else { json!([]) },
            "before_stage": if self.once_in(4) { json!([check]) } else { json!([]) },
            "acceptance": [check], "after_stage": [], "artifacts": [], "wiring": [], "wiring_tests": [],
            "truths": [], "tasks": [], "context_budget": 75, "client": if self.once_in(3) { "codex" } else { "claude" },
            "mode": "headless", "sandbox": {"confine": "auto", "network": "open"},
            "budget": {"on_exceed": "pause"}, "retries": self.below(4),
            "merge": if self.once_in(6) { "person" } else { "auto" }, "empty": "refused",
            "sharing": if self.once_in(8) { "exclusive" } else { "shared" }, "outputs": [], "verify": "standard",
        })
    }
}
