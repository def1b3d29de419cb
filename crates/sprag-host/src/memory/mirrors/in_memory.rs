//! A backend for tests that can fail on request.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use sprag_memory::learning::Learning;

use super::{BackendHit, Mirror};

/// Backend whose content outlives a connection.
#[derive(Clone, Default)]
pub struct TestBackend(Rc<RefCell<StoredLearning>>);

#[derive(Default)]
struct StoredLearning {
    kept: BTreeMap<String, (BackendHit, bool)>,
    writes: usize,
    /// Number of calls that succeed before one fails.
    good_for: Option<usize>,
}

impl TestBackend {
    pub fn fail_after(&self, calls: usize) {
        self.0.borrow_mut().good_for = Some(calls);
    }

    pub fn mend(&self) {
        self.0.borrow_mut().good_for = None;
    }

    pub fn writes(&self) -> usize {
        self.0.borrow().writes
    }

    fn attempt(&self) -> io::Result<()> {
        let mut held = self.0.borrow_mut();
        match &mut held.good_for {
            Some(0) => Err(io::ErrorKind::ConnectionRefused.into()),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Mirror for TestBackend {
    fn ping(&mut self) -> io::Result<()> {
        self.attempt()
    }

    fn write(&mut self, learning: &Learning) -> io::Result<()> {
        self.attempt()?;
        let mut held = self.0.borrow_mut();
        let (id, hit) = (learning.id.to_string(), BackendHit::from(learning));
        if held.kept.get(&id) != Some(&(hit.clone(), true)) {
            held.kept.insert(id, (hit, true));
            held.writes += 1;
        }
        Ok(())
    }

    fn archive(&mut self, id: &str) -> io::Result<()> {
        self.attempt()?;
        self.0.borrow_mut().kept.entry(id.to_owned()).and_modify(|(_, is_active)| *is_active = false);
        Ok(())
    }

    fn restore(&mut self, id: &str) -> io::Result<()> {
        self.attempt()?;
        self.0.borrow_mut().kept.entry(id.to_owned()).and_modify(|(_, is_active)| *is_active = true);
        Ok(())
    }

    fn search(&mut self, query: &str, limit: usize) -> io::Result<Vec<BackendHit>> {
        self.attempt()?;
        let words = super::in_words(query);
        let held = self.0.borrow();
        let active = held.kept.values().filter(|(_, is_active)| *is_active).map(|(hit, _)| hit);
        Ok(active.filter(|hit| super::is_about(hit, &words)).take(limit).cloned().collect())
    }
}
