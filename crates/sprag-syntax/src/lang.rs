//! The supported languages. Only the extension of a path decides the language, so that both sides of a change
//! and every reader agree.

use std::sync::OnceLock;

use tree_sitter::Language;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lang {
    Rust,
    TypeScript,
    Tsx,
    JavaScript,
    Python,
    Go,
    Java,
}

impl Lang {
    pub fn of_path(path: &str) -> Option<Lang> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, ending) = name.rsplit_once('.')?;
        let lang = match ending {
            "rs" => Lang::Rust,
            "ts" | "mts" | "cts" => Lang::TypeScript,
            "tsx" => Lang::Tsx,
            "js" | "mjs" | "cjs" | "jsx" => Lang::JavaScript,
            "py" | "pyi" => Lang::Python,
            "go" => Lang::Go,
            "java" => Lang::Java,
            _ => return None,
        };
        grammar(lang).map(|_| lang)
    }

    /// Reports whether the language is JavaScript or a dialect of it, which share their syntax here.
    pub fn is_script(self) -> bool {
        matches!(self, Lang::JavaScript | Lang::TypeScript | Lang::Tsx)
    }
}

/// A grammar with the names of its kinds and fields, looked up once.
pub(crate) struct Grammar {
    pub language: &'static Language,
    pub kinds: Vec<&'static str>,
    pub named: Vec<bool>,
    pub fields: Vec<&'static str>,
    /// The first number of each kind: a grammar may have several numbers for one name.
    pub canon: Vec<u16>,
    /// Kinds that Sprag adds: text between tokens, directives in comments, and directive texts at the start
    /// of a script.
    pub gap: u16,
    pub directive: u16,
    pub prologue: u16,
}

/// Returns the grammar of a language, or `None` if the build leaves it out.
pub(crate) fn grammar(lang: Lang) -> Option<&'static Grammar> {
    static GRAMMARS: [OnceLock<Option<Grammar>>; 7] = [const { OnceLock::new() }; 7];
    GRAMMARS[lang as usize].get_or_init(|| load(lang)).as_ref()
}

fn load(lang: Lang) -> Option<Grammar> {
    let language: Language = match lang {
        #[cfg(feature = "rust")]
        Lang::Rust => tree_sitter_rust::LANGUAGE.into(),
        #[cfg(feature = "typescript")]
        Lang::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        #[cfg(feature = "typescript")]
        Lang::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        #[cfg(feature = "javascript")]
        Lang::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        #[cfg(feature = "python")]
        Lang::Python => tree_sitter_python::LANGUAGE.into(),
        #[cfg(feature = "go")]
        Lang::Go => tree_sitter_go::LANGUAGE.into(),
        #[cfg(feature = "java")]
        Lang::Java => tree_sitter_java::LANGUAGE.into(),
        #[allow(unreachable_patterns, reason = "reached only where a language is left out of the build")]
        _ => return None,
    };
    // Lives as long as the process, like the table of grammars.
    let language: &'static Language = Box::leak(Box::new(language));
    let count = language.node_kind_count() as u16;
    let fields = language.field_count() as u16;
    let mut kinds: Vec<&'static str> =
        (0..count).map(|id| language.node_kind_for_id(id).unwrap_or("")).collect();
    let mut named: Vec<bool> = (0..count).map(|id| language.node_kind_is_named(id)).collect();
    let canon = (0..kinds.len())
        .map(|id| {
            let same = |other: &usize| kinds[*other] == kinds[id] && named[*other] == named[id];
            (0..=id).find(same).expect("a kind equals itself") as u16
        })
        .collect();
    kinds.extend(["gap", "directive", "prologue"]);
    named.extend([true, true, true]);
    Some(Grammar {
        canon,
        gap: count,
        directive: count + 1,
        prologue: count + 2,
        kinds,
        named,
        fields: (0..=fields).map(|id| language.field_name_for_id(id).unwrap_or("")).collect(),
        language,
    })
}
