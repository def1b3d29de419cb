//! File names that mark secrets by convention.

/// Endings of keys, certificates with keys, and password stores.
const ENDINGS: &[&str] = &[
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
    ".asc",
    ".gpg",
    ".age",
    ".tfvars",
    ".tfstate",
    ".ovpn",
];
/// Whole names.
const NAMES: &[&str] = &[
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    ".git-credentials",
    "kubeconfig",
    "secring",
    "htpasswd",
    "auth.json",
    "hosts.yml",
    "service-account.json",
];
/// Words that a name of secrets has as a part, between punctuation.
const WORDS: &[&str] =
    &["secret", "secrets", "credential", "credentials", "password", "passwords", "passwd", "token", "tokens"];
/// Endings of source code and text, where such a word is a topic.
const SOURCES: &[&str] = &[
    ".rs", ".py", ".js", ".ts", ".tsx", ".jsx", ".go", ".java", ".kt", ".c", ".h", ".cc", ".cpp", ".rb",
    ".php", ".cs", ".swift", ".md", ".rst", ".html", ".css", ".sh", ".sql", ".vue", ".pub",
];
/// Directories in which every file counts.
const DIRECTORIES: &[&str] = &[".ssh", ".aws", ".gnupg", ".kube", ".azure", ".gcloud", ".docker"];

/// Reports whether the name of a file suggests a secret. Examples such as `.env.example` do not count.
pub fn is_secret_name(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut parts = lower.rsplit('/');
    let name = parts.next().unwrap_or_default();
    if parts.any(|dir| DIRECTORIES.contains(&dir)) {
        return true;
    }
    let is_example = ["example", "sample", "template", "dist"].iter().any(|word| name.ends_with(word));
    if is_example || SOURCES.iter().any(|ending| name.ends_with(ending)) {
        return false;
    }
    let is_env = name == ".env" || name == ".envrc" || name.starts_with(".env.") || name.ends_with(".env");
    let has_word = || name.split(|sign: char| !sign.is_alphanumeric()).any(|part| WORDS.contains(&part));
    is_env
        || name.starts_with("id_")
        || NAMES.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || has_word()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_secret_is_known() {
        let secret = [
            ".env",
            "/w/.env.local",
            "prod.env",
            "certs/server.pem",
            "id_ed25519",
            "home/.ssh/config",
            "credentials",
            "aws-credentials.json",
            "db_password.txt",
            "SECRETS.yaml",
            ".npmrc",
        ];
        for path in secret {
            assert!(is_secret_name(path), "{path}");
        }
        let plain = [
            "a.txt",
            ".env.example",
            "id_ed25519.pub",
            "src/token.rs",
            "docs/secrets.md",
            "environment.ts",
            "Cargo.toml",
            "src/auth/a.rs",
            "tokenizer.json",
            "",
        ];
        for path in plain {
            assert!(!is_secret_name(path), "{path}");
        }
    }
}
