//! The texts that ask an agent for a review. Sprag only replaces variables: a template from a file is data.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::text::{quoted, shell_word};

use crate::gates::review::settings::Settings;

/// Maximum bytes of a template file.
pub const BYTES: usize = 8 * 1024;
/// Maximum number of template files in one directory.
pub const FILES: usize = 20;

const V1: &str = "start the agent `{{agent}}`, tell it the session id `{{session_id}}`, and stop again once it has decided";

const V2: &str = "\
1. finish your work: a change after the review voids it
2. start the agent `{{agent}}` and tell it only the session id `{{session_id}}`
3. the agent reviews the work and decides with `{{decide}}`; you cannot decide yourself
4. if it finds issues, fix them and start it again
5. then stop";

/// Built-in templates.
const BUILT_IN: &[(&str, &str)] = &[("v1", V1), ("v2", V2)];

const VARIABLES: [&str; 4] = ["session_id", "agent", "trigger", "decide"];

/// A checked template from a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    id: String,
    text: String,
}

impl Template {
    pub fn new(id: &str, text: &str) -> Result<Template, String> {
        let is_id = !id.is_empty()
            && id.len() <= 32
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if !is_id {
            return Err("the id may contain only letters, digits, `-` and `_`".to_owned());
        }
        if text.len() > BYTES {
            return Err(format!("the template is longer than {BYTES} bytes"));
        }
        check(text)?;
        Ok(Template { id: id.to_owned(), text: text.trim_end().to_owned() })
    }

    pub fn id(&self) -> &str {
        &self.id
    }
}

/// `id=weight`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TemplateWeight {
    pub id: String,
    pub weight: u32,
}

impl TryFrom<String> for TemplateWeight {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let read = text.split_once('=').and_then(|(id, weight)| {
            Some(TemplateWeight { id: id.trim().to_owned(), weight: weight.trim().parse().ok()? })
        });
        read.ok_or_else(|| format!("`{text}` is not of the form `id=weight`"))
    }
}

impl From<TemplateWeight> for String {
    fn from(weight: TemplateWeight) -> String {
        format!("{}={}", weight.id, weight.weight)
    }
}

/// The values of the variables.
pub struct Values<'a> {
    pub session_id: &'a str,
    pub agent: &'a str,
    pub trigger: &'a str,
}

impl Values<'_> {
    fn get(&self, name: &str) -> Option<String> {
        Some(match name {
            "session_id" => quoted(self.session_id),
            "agent" => self.agent.to_owned(),
            "trigger" => self.trigger.to_owned(),
            "decide" => format!(
                "sprag decide COMPLETE|ISSUES --summary TEXT --session {}",
                shell_word(self.session_id)
            ),
            _ => return None,
        })
    }
}

/// Reports an error for an unknown variable.
fn check(text: &str) -> Result<(), String> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else {
            return Err("`{{` is not closed".to_owned());
        };
        if !VARIABLES.contains(&name.trim()) {
            return Err(format!(
                "unknown variable `{}`; known are {}",
                quoted(name.trim()),
                VARIABLES.join(", ")
            ));
        }
        rest = after;
    }
    Ok(())
}

/// Replaces variables by their values. Values are not searched for variables.
pub fn fill(text: &str, values: &Values<'_>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        match after.split_once("}}").and_then(|(name, after)| Some((values.get(name.trim())?, after))) {
            Some((value, after)) => {
                out.push_str(&value);
                rest = after;
            }
            None => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Returns the template of an attempt: the active one, or one by weight. The same seed gives the same
/// template.
pub fn choose(policy: &Settings, seed: Digest) -> (&str, &str) {
    let templates = &policy.templates;
    let weighted: Vec<((&str, &str), u64)> = templates
        .weights
        .iter()
        .filter_map(|weight| Some((find(policy, &weight.id)?, u64::from(weight.weight))))
        .collect();
    let total: u64 = weighted.iter().map(|(_, weight)| weight).sum();
    if let Some(pinned) = find(policy, &templates.active) {
        return pinned;
    }
    if total > 0 {
        let mut at = seed.below(total);
        for (template, weight) in weighted {
            if at < weight {
                return template;
            }
            at -= weight;
        }
    }
    BUILT_IN[0]
}

/// Returns a template by id. A file may replace a built-in template.
pub fn find<'p>(policy: &'p Settings, id: &str) -> Option<(&'p str, &'p str)> {
    let from_file = policy.texts.iter().find(|template| template.id == id);
    let from_file = from_file.map(|template| (template.id.as_str(), template.text.as_str()));
    from_file.or_else(|| BUILT_IN.iter().find(|(built_in, _)| *built_in == id).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: Values<'_> =
        Values { session_id: "s-1", agent: "sprag-reviewer", trigger: "{{agent}} `x`" };

    #[test]
    fn variables_are_put_in_once() {
        let filled = fill("{{session_id}}: {{ agent }}, {{trigger}} {{decide}}", &VALUES);
        assert_eq!(
            filled,
            "s-1: sprag-reviewer, {{agent}} `x` sprag decide COMPLETE|ISSUES --summary TEXT --session s-1"
        );
        for (_, text) in BUILT_IN {
            assert_eq!(check(text), Ok(()));
            assert!(fill(text, &VALUES).len() < 700, "a hold is short");
        }
    }

    #[test]
    fn a_template_with_a_mistake_is_refused() {
        for (id, text) in [
            ("x", "{{sesion_id}}"),
            ("x", "{{session_id"),
            ("x", "{% for x in y %}{{x}}"),
            ("../x", "fine"),
            ("", "fine"),
            ("x", &"y".repeat(BYTES + 1)),
        ] {
            assert!(Template::new(id, text).is_err(), "{id}: {text:.20}");
        }
        assert!(Template::new("mine", "review `{{session_id}}`\n").is_ok());
    }

    #[test]
    fn the_choice_follows_the_weights_and_the_seed() {
        let mut policy = Settings::default();
        assert_eq!(choose(&policy, Digest::hash_parts(["a"])).0, "v1");
        let weight = |text: &str| TemplateWeight::try_from(text.to_owned()).unwrap();
        policy.templates.weights = vec![weight("v1=1"), weight("v2=3"), weight("gone=100")];
        let seeds = || (0..400u32).map(|n| Digest::hash_parts([n.to_le_bytes()]));
        let second = seeds().filter(|seed| choose(&policy, *seed).0 == "v2").count();
        assert!((250..350).contains(&second), "{second}");
        assert!(seeds().all(|seed| choose(&policy, seed) == choose(&policy, seed)));
        policy.templates.active = "v2".to_owned();
        assert!(seeds().all(|seed| choose(&policy, seed).0 == "v2"));
        policy.texts = vec![Template::new("v2", "mine").unwrap()];
        assert_eq!(choose(&policy, Digest::hash_parts(["a"])), ("v2", "mine"));
        for wrong in ["v1", "v1=x", "v1=-1", "=", ""] {
            assert!(TemplateWeight::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
