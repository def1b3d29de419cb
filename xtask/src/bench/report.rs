//! The results, for people and for programs, and the limits that they exceed.

use std::fmt;

use serde::Serialize;

use super::{append, instructions, latency, memory, parse, search};

/// The results of one bench; a part that was not requested is `None`.
#[derive(Serialize)]
pub struct Report {
    pub v: u32,
    pub rounds: usize,
    /// Processes that were ready to run at the start, as the kernel counts them.
    pub load: Option<String>,
    pub latency: Option<Vec<latency::Row>>,
    pub append: Option<Vec<append::Row>>,
    pub parse: Option<Vec<parse::Row>>,
    pub search: Option<Vec<search::Row>>,
    pub memory: Option<Vec<memory::Row>>,
    pub instructions: Option<Vec<instructions::Row>>,
}

impl Report {
    /// Returns an empty report.
    pub fn new(rounds: usize) -> Report {
        Report {
            v: 1,
            rounds,
            load: None,
            latency: None,
            append: None,
            parse: None,
            search: None,
            memory: None,
            instructions: None,
        }
    }

    /// Returns the limits that the results exceed. On a busy machine the list is meaningless.
    pub fn broken_contracts(&self) -> Vec<String> {
        let slow = self.latency.iter().flatten().filter(|row| row.breaks_contract()).map(|row| {
            let most = row.contract.unwrap_or_default();
            format!("`{}` takes {:.2} times the empty program (limit {most:.1})", row.case, row.to_empty)
        });
        let big = self.memory.iter().flatten().filter(|row| row.breaks_contract()).map(|row| {
            format!("`{}` uses {} of memory (limit {})", row.case, mib(row.peak_bytes), mib(memory::MOST))
        });
        let searches = self.search.iter().flatten().filter_map(search::Row::broken);
        slow.chain(big).chain(searches).collect()
    }

    pub fn over_budget(&self) -> Vec<String> {
        let over = self.instructions.iter().flatten().filter(|row| row.is_over());
        over.map(|row| match row.max {
            Some(max) => format!("`{}` takes {} instructions (limit {max})", row.case, row.counted),
            None => format!("`{}` has no budget\n  next: cargo xtask bench --instructions --save", row.case),
        })
        .collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(load) = &self.load {
            writeln!(f, "load at the start: {load}")?;
        }
        if let Some(rows) = &self.latency {
            let title = format!("latency, {} rounds in turns", self.rounds);
            writeln!(
                f,
                "\n{title:<32} {:>10} {:>10} {:>8} {:>8} {:>8}",
                "median us", "p99 us", "/empty", "/true", "most"
            )?;
            for row in rows {
                let most = row.contract.map(|most| format!("{most:.1}")).unwrap_or_default();
                writeln!(
                    f,
                    "  {:<30} {:>10.0} {:>10.0} {:>8.2} {:>8.2} {most:>8}",
                    row.case, row.spread.median_us, row.spread.p99_us, row.to_empty, row.to_true
                )?;
            }
        }
        if let Some(rows) = &self.append {
            writeln!(f, "\n{:<32} {:>10} {:>10}", "binding and plain appends", "median us", "p99 us")?;
            for row in rows {
                writeln!(f, "  {:<30} {:>10.0} {:>10.0}", row.case, row.spread.median_us, row.spread.p99_us)?;
            }
        }
        if let Some(rows) = &self.parse {
            writeln!(f, "\n{:<32} {:>10} {:>10}", "reading a command line", "median us", "p99 us")?;
            for row in rows {
                writeln!(f, "  {:<30} {:>10.1} {:>10.1}", row.case, row.spread.median_us, row.spread.p99_us)?;
            }
        }
        if let Some(rows) = &self.search {
            let head = [
                "median us",
                "p99 us",
                "/empty",
                "most",
                "fts5",
                "cold us",
                "peak",
                "load ms",
                "build ms",
                "B/text",
            ];
            write!(f, "\n{:<16}", "searching")?;
            head.iter().try_for_each(|name| write!(f, " {name:>9}"))?;
            writeln!(f)?;
            for row in rows {
                let peer = row.peer_to_empty.map(|peer| format!("{peer:.2}")).unwrap_or_default();
                writeln!(
                    f,
                    "  {:<14} {:>9.0} {:>9.0} {:>9.2} {:>9.1} {peer:>9} {:>9.0} {:>9} {:>9.0} {:>9.0} {:>9.0}",
                    row.case,
                    row.spread.median_us,
                    row.spread.p99_us,
                    row.to_empty,
                    row.contract,
                    row.cold_us,
                    mib(row.peak_bytes),
                    row.load_ms,
                    row.build_ms,
                    row.bytes_per_text
                )?;
            }
        }
        if let Some(rows) = &self.memory {
            writeln!(f, "\n{:<32} {:>10} {:>10}", "peak memory, an upper bound", "in use", "most")?;
            for row in rows {
                writeln!(f, "  {:<30} {:>10} {:>10}", row.case, mib(row.peak_bytes), mib(memory::MOST))?;
            }
        }
        if let Some(rows) = &self.instructions {
            writeln!(
                f,
                "\n{:<32} {:>10} {:>10} {:>8} {:>10}",
                "instructions", "counted", "last", "change", "most"
            )?;
            for row in rows {
                let (last, change) = match row.last {
                    Some(last) => (last.to_string(), change(row.counted, last)),
                    None => (String::new(), String::new()),
                };
                let most = row.max.map(|max| max.to_string()).unwrap_or_default();
                let mark = if row.is_over() { "  OVER" } else { "" };
                writeln!(
                    f,
                    "  {:<30} {:>10} {last:>10} {change:>8} {most:>10}{mark}",
                    row.case, row.counted
                )?;
            }
        }
        Ok(())
    }
}

fn change(now: u64, last: u64) -> String {
    format!("{:+.1}%", (now as f64 / last as f64 - 1.0) * 100.0)
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / (1024.0 * 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::stats::Spread;

    fn report() -> Report {
        let spread = Spread { median_us: 900.0, p99_us: 2000.0 };
        let timed = |case: &str, to_empty| latency::Row {
            case: case.to_owned(),
            spread,
            to_empty,
            to_true: 1.0,
            contract: Some(1.5),
        };
        let counted = |case: &str, counted, max| instructions::Row {
            case: case.to_owned(),
            counted,
            last: Some(100_000),
            max,
        };
        Report {
            latency: Some(vec![timed("quick", 1.4), timed("slow", 1.6)]),
            memory: Some(vec![memory::Row { case: "big".to_owned(), peak_bytes: 20 << 20 }]),
            instructions: Some(vec![
                counted("fine", 110_000, Some(250_000)),
                counted("over", 300_000, Some(250_000)),
            ]),
            ..Report::new(500)
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_both_numbers() {
        let expected = [
            "`slow` takes 1.60 times the empty program (limit 1.5)",
            "`big` uses 20.0 MB of memory (limit 16.0 MB)",
        ];
        assert_eq!(report().broken_contracts(), expected);
        assert_eq!(report().over_budget(), ["`over` takes 300000 instructions (limit 250000)"]);
    }

    #[test]
    fn the_table_shows_drift_and_what_is_over() {
        let table = report().to_string();
        let line = |name: &str| table.lines().find(|line| line.contains(name)).unwrap().to_owned();
        assert!(line("fine").contains("+10.0%"), "{table}");
        assert!(!line("fine").contains("OVER"), "{table}");
        assert!(line("over").ends_with("OVER"), "{table}");
    }
}
