//! A function that is called between the response of the database and its use.

use crate::Store;
use crate::engine::{Observer, Rows, Statement};

struct ReadHook<F>(F);

impl<F: Fn(&str) + Send + Sync> Observer for ReadHook<F> {
    fn read(&self, statement: &Statement, _: &Rows) {
        self.0(statement.sql);
    }

    fn write(&self, _: &[Statement], _: &[Rows]) {}
}

impl Store {
    /// Calls a function with the text of each further read before its rows are used, so that a test
    /// can pause reads.
    pub fn set_read_hook(&self, hook: impl Fn(&str) + Send + Sync + 'static) {
        drop(self.engine.observer.set(Box::new(ReadHook(hook))));
    }
}
