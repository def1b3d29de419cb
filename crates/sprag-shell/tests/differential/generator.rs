//! Generates shell texts from a seed: nested forms, words with quotes and substitutions, heredocs, and broken
//! texts.

/// A random number generator; the same seed gives the same texts on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("a bound is small")
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

const WORDS: &[&str] = &[
    "a",
    "b.c",
    "-x",
    "--opt=v",
    "'q r'",
    "\"s t\"",
    "$x",
    "\"$x\"",
    "${x:-y}",
    "\"${x:-y z}\"",
    "$(e f)",
    "\"$(e \"f\")\"",
    "`g h`",
    "$((1 + 2))",
    "\\;",
    "a\\ b",
    "*.rs",
    "{1..3}",
    "{a,b}",
    "$'n\\'o'",
    "~/p",
    "x=1",
    "[abc]",
    "@(a|b)",
    "é",
    "a#b",
    "${x#y}",
    "${#x}",
    "\"a;b\"",
    "'it;s'",
    "$(case m in n) o;; esac)",
    "2",
    "if",
    "done",
    "=",
    "%",
    "!",
    "a\\\nb",
    "\"c\\\nd\"",
    "$(a | b; (c))",
    "${x/'}'/y}",
    "\"'\"",
];

const NAMES: &[&str] = &["p", "git", "echo", "\"q\"", "$r", "./s", "ifs", "t1", "{u,v}", "'w'"];

const BREAKS: &[&str] = &[
    "(", ")", "{", "}", ";;", "&&", "|", "fi", "done", "esac", "then", "do", "'", "\"", "`", "$(", "${",
    "((", "))", "<", ">", "<<E", "\n", ";", "&", "in", "case", "[[", "]]", "$((", "!", "function",
];

/// Generates a valid text.
pub(crate) fn text(random: &mut Random) -> String {
    let mut pending = Vec::new();
    let mut text = list(random, 2, &mut pending);
    heredocs(&mut text, &mut pending);
    text
}

/// Generates a text with an inserted piece or a missing end; it may still be valid.
pub(crate) fn broken_text(random: &mut Random) -> String {
    let mut text = text(random);
    if text.len() > 1 {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = places[random.below(places.len())];
        if random.below(2) == 0 {
            text.insert_str(at, random.pick(BREAKS));
        } else {
            text.truncate(at);
        }
    }
    text
}

fn list(random: &mut Random, depth: usize, pending: &mut Vec<String>) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(2) {
        text.push_str(&and_or(random, depth, pending));
        match random.below(5) {
            0 if pending.is_empty() => text.push_str(" & "),
            1 | 2 => text.push_str("; "),
            _ => heredocs(&mut text, pending),
        }
        if random.below(12) == 0 {
            heredocs(&mut text, pending);
            text.push_str("# it's a comment\n");
        }
    }
    text
}

/// Ends the line and writes the pending heredoc bodies.
fn heredocs(text: &mut String, pending: &mut Vec<String>) {
    text.push('\n');
    for body in pending.drain(..) {
        text.push_str(&body);
    }
}

fn and_or(random: &mut Random, depth: usize, pending: &mut Vec<String>) -> String {
    let mut text = pipeline(random, depth, pending);
    while random.below(4) == 0 {
        text.push_str(random.pick(&[" && ", "||", " && \\\n", " || "]));
        text.push_str(&pipeline(random, depth, pending));
    }
    text
}

fn pipeline(random: &mut Random, depth: usize, pending: &mut Vec<String>) -> String {
    let mut text = random.pick(&["", "", "", "", "", "", "", "! ", "time ", "time -p "]).to_owned();
    text.push_str(&command(random, depth, pending));
    while random.below(5) == 0 {
        text.push_str(random.pick(&[" | ", "|", " |& "]));
        text.push_str(&command(random, depth, pending));
    }
    text
}

fn command(random: &mut Random, depth: usize, pending: &mut Vec<String>) -> String {
    if depth == 0 || random.below(3) > 0 {
        return simple(random, depth, pending);
    }
    let mut inner = || {
        let mut waiting = Vec::new();
        let mut text = list(random, depth - 1, &mut waiting);
        heredocs(&mut text, &mut waiting);
        text
    };
    let (first, second) = (inner(), inner());
    let word = random.pick(WORDS).to_owned();
    let mut text = match random.below(20) {
        0 => format!("{{ {first}}}"),
        1 => format!("({first})"),
        2 => format!("( {first} )"),
        3 => format!("if {first} then {second} fi"),
        4 => format!("if {first} then {second} else {first} fi"),
        5 => format!("if {first} then {second} elif {first} then {second} fi"),
        6 => format!("while {first} do {second} done"),
        7 => format!("until {first} do {second} done"),
        8 => format!("for v in {word} {word}; do {first} done"),
        9 => format!("for v in {word}\ndo {first} done"),
        10 => format!("for v; do {first} done"),
        11 => format!("for ((i = 0; i < 3; i++)); do {first} done"),
        12 => format!("case {word} in a|b) {first} ;; (c) {second} ;& *) {first} esac"),
        13 => format!("f() {{ {first}}}"),
        14 => format!("function g {{ {first}}}"),
        15 => format!("[[ {} ]]", test(random)),
        16 => "(( i += 1 ))".to_owned(),
        17 => format!("coproc {word}"),
        18 => format!("declare -a k=({word} l) m=n"),
        _ => format!("select s in {word}; do {first} done"),
    };
    if random.below(5) == 0 {
        text.push_str(&redirect(random, 0, pending));
    }
    text
}

fn test(random: &mut Random) -> String {
    let word = random.pick(&["$x", "\"$y\"", "a", "'b c'", "$(d)"]);
    let term = match random.below(6) {
        0 => format!("-f {word}"),
        1 => format!("{word} == a*"),
        2 => format!("{word} -eq 3"),
        3 => format!("{word} =~ ^[a-z]+(b|c)$"),
        4 => format!("! {word} < z"),
        _ => format!("-z {word}"),
    };
    match random.below(5) {
        0 => format!("{term} && {}", test(random)),
        1 => format!("( {term} ) || -n a"),
        _ => term,
    }
}

fn simple(random: &mut Random, depth: usize, pending: &mut Vec<String>) -> String {
    let mut text = String::new();
    if random.below(6) == 0 {
        text.push_str(random.pick(&["A=1 ", "B='x y' ", "C=$(d) ", "E=(f g) ", "H+=i ", "J[1]=k ", "L= "]));
    }
    if random.below(12) == 0 {
        text.push_str(&redirect(random, depth, pending));
        text.push(' ');
    }
    text.push_str(random.pick(NAMES));
    for _ in 0..random.below(4) {
        text.push_str(random.pick(&[" ", "  ", "\t", " \\\n"]));
        match random.below(12) {
            0 => text.push_str(&redirect(random, depth, pending)),
            1 if depth > 0 => {
                text.push_str(random.pick(&["<(", ">("]));
                text.push_str(&simple(random, 0, &mut Vec::new()).replace("<<<", "<").replace("<<", "<"));
                text.push(')');
            }
            _ => text.push_str(random.pick(WORDS)),
        }
    }
    text
}

fn redirect(random: &mut Random, depth: usize, pending: &mut Vec<String>) -> String {
    let target = random.pick(&["o", "\"$o\"", "/dev/null", "'o p'", "$(q)"]);
    match random.below(16) {
        0 => format!(" > {target}"),
        1 => format!(" >>{target}"),
        2 => format!(" < {target}"),
        3 => format!(" 2>{target}"),
        4 => " 2>&1".to_owned(),
        5 => format!(" &> {target}"),
        6 => format!(" <<< {target}"),
        7 => format!(" >| {target}"),
        8 => format!(" <> {target}"),
        9 => " 3<&-".to_owned(),
        10 => format!(" &>>{target}"),
        11 => format!(" {{fd}}> {target}"),
        12 if depth > 0 => " < <(r s)".to_owned(),
        13 if depth > 0 => {
            pending.push("one 'two $three\nE\n".to_owned());
            " <<E".to_owned()
        }
        14 if depth > 0 => {
            pending.push("four \"five $(six\nE F\n".to_owned());
            " <<'E F'".to_owned()
        }
        15 if depth > 0 => {
            pending.push("\tseven\n\tG\n".to_owned());
            " <<-G".to_owned()
        }
        _ => " >&2".to_owned(),
    }
}
