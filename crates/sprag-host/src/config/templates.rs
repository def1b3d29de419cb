//! Template files: `templates/block-ID.md` next to a configuration file.

use std::fs;
use std::path::{Path, PathBuf};

use sprag_base::text::quoted;
use sprag_govern::gates::review::settings::Settings;
use sprag_govern::gates::review::template::{self, Template};

use super::{ConfigProblem, Layer};
use crate::sys::disk::read_small;
use crate::sys::locations::Locations;

/// Returns the directories of templates; a directory may be missing.
pub fn dirs(places: &Locations) -> Vec<(Layer, PathBuf)> {
    let user = places.user.iter().map(|user| (Layer::User, user.config.join("templates")));
    let project = places.project().map(|project| (Layer::Project, project.join("templates")));
    user.chain(project).collect()
}

/// Returns the template files of all layers, sorted by name.
pub fn files(places: &Locations) -> Vec<(Layer, PathBuf)> {
    let mut found = Vec::new();
    for (layer, dir) in dirs(places) {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = entries.filter(|path| id_of(path).is_some()).collect();
        files.sort();
        found.extend(files.into_iter().take(template::FILES).map(|path| (layer, path)));
    }
    found
}

/// Reads a template file. Returns its text, which a person trusts by its hash, and the parsed template.
pub fn read(path: &Path) -> Result<(String, Template), String> {
    let text =
        read_small(path, template::BYTES as u64).map_err(|error| format!("cannot be read: {error}"))?;
    let template = Template::new(id_of(path).unwrap_or_default(), &text)?;
    Ok((text, template))
}

/// Returns a problem for each id in the settings without a template. The choice of a template ignores these
/// ids.
pub fn unknown(policy: &Settings) -> Vec<ConfigProblem> {
    let active =
        Some(&policy.templates.active).filter(|id| !id.is_empty()).map(|id| ("templates.active", id));
    let weighted = policy.templates.weights.iter().map(|weight| ("templates.weights", &weight.id));
    let unknown = active.into_iter().chain(weighted).filter(|(_, id)| template::find(policy, id).is_none());
    let problem = |(key, id): (&str, &String)| ConfigProblem {
        source: key.to_owned(),
        what: format!("unknown template `{}`", quoted(id)),
        suggestion: None,
    };
    unknown.map(problem).collect()
}

fn id_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix("block-")?.strip_suffix(".md")
}
