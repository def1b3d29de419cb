//! Generated texts to search. They are the same in every run, about as long as a learning, with a realistic
//! frequency of words and some identifiers.

use serde_json::{Value, json};

/// Generator of texts.
pub struct Texts {
    words: Vec<String>,
    /// Cumulative frequencies of the words, to draw from.
    sums: Vec<f64>,
    chance: u64,
}

const WORDS: usize = 30_000;
const SYLLABLES: [&str; 30] = [
    "ba", "co", "di", "fu", "ga", "he", "in", "jo", "ka", "lu", "me", "no", "or", "pe", "qui", "ra", "si",
    "to", "ul", "ve", "wo", "xi", "ya", "zo", "st", "er", "tion", "ing", "ment", "pre",
];

/// A text, and a query that matches a part of it.
pub struct Made {
    pub line: Value,
    pub question: String,
}

impl Texts {
    pub fn new() -> Texts {
        let mut texts = Texts { words: Vec::with_capacity(WORDS), sums: Vec::new(), chance: 20_261_115 };
        let mut known = std::collections::HashSet::new();
        while texts.words.len() < WORDS {
            let count = 2 + texts.below(3);
            let word: String = (0..count).map(|_| SYLLABLES[texts.below(SYLLABLES.len())]).collect();
            if known.insert(word.clone()) {
                texts.words.push(word);
            }
        }
        let mut sum = 0.0;
        for rank in 0..WORDS {
            sum += 1.0 / (rank as f64 + 10.0);
            texts.sums.push(sum);
        }
        texts
    }

    pub fn next(&mut self, number: usize) -> Made {
        let (summary, detail) = (self.sentence(11), self.sentence(48));
        let tags: Vec<String> = (0..3).map(|_| self.word()).collect();
        let files: Vec<String> = (0..self.below(3)).map(|_| self.file()).collect();
        let words: Vec<&str> = summary.split(' ').chain(detail.split(' ')).collect();
        let question = (0..8).map(|at| words[at * 7 % words.len()]).collect::<Vec<_>>().join(" ");
        let id = format!("0192f0c1-7e4b-7000-8000-{number:012x}");
        let line = json!({"id": id, "summary": summary, "detail": detail, "tags": tags, "files": files});
        Made { line, question }
    }

    fn sentence(&mut self, count: usize) -> String {
        let one = |texts: &mut Texts| match texts.below(100) {
            0..6 => format!("{}_{}", texts.word(), texts.word()),
            _ => texts.word(),
        };
        (0..count).map(|_| one(self)).collect::<Vec<_>>().join(" ")
    }

    fn file(&mut self) -> String {
        let (directory, name) = (self.below(800), self.below(3000));
        format!("src/{}/{}.rs", self.words[directory], self.words[name])
    }

    fn word(&mut self) -> String {
        let drawn = self.draw() * self.sums[WORDS - 1];
        self.words[self.sums.partition_point(|&sum| sum < drawn).min(WORDS - 1)].clone()
    }

    fn below(&mut self, end: usize) -> usize {
        (self.draw() * end as f64) as usize
    }

    fn draw(&mut self) -> f64 {
        self.chance =
            self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_the_same_every_time_and_as_long_as_a_learning() {
        let made = || {
            let mut texts = Texts::new();
            (0..200).map(|number| texts.next(number).line.to_string()).collect::<Vec<_>>()
        };
        let (once, again) = (made(), made());
        assert_eq!(once, again);
        let mut texts = Texts::new();
        let length =
            |line: &Value| line["summary"].as_str().unwrap().len() + line["detail"].as_str().unwrap().len();
        let total: usize = (0..200).map(|number| length(&texts.next(number).line)).sum();
        assert!((440..640).contains(&(total / 200)), "{}", total / 200);
    }
}
