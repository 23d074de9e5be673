//! Many accounts at once: their ids by their names, and their rules.

use std::collections::HashMap;

use super::{Reading, Rulesets, RulesetsRead, Versioned};
use crate::store::cache::Moment;
use crate::store::engine::{PARAMETERS, Value, sql};
use crate::store::{Store, StoreError};

/// How many names or ids one statement takes.
const AT_ONCE: usize = PARAMETERS.len();

/// `in` and as many parameters as there are.
macro_rules! in_list {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " in ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, \
             $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, \
             $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50)",
            $after
        )
    };
}

/// The list, filled up with its first item again: nothing is found twice.
fn filled<T: Clone + Into<Value>>(list: &[T]) -> [Value; AT_ONCE] {
    std::array::from_fn(|at| match list.get(at).or(list.first()) {
        Some(item) => item.clone().into(),
        None => Value::Null,
    })
}

impl Store {
    /// The ids of the accounts of these names, in the same order: `None` where there is no such
    /// account, or it is disabled. What is in memory is not asked for again.
    pub async fn account_ids(&self, names: &[&str]) -> Result<Vec<Option<i64>>, StoreError> {
        let mut all = Vec::with_capacity(names.len());
        for names in names.chunks(AT_ONCE) {
            all.extend(self.some_account_ids(names).await?);
        }
        Ok(all)
    }

    /// The rules of these accounts, in the same order. What is in memory is not asked for again.
    pub async fn rulesets_of_many(
        &self,
        accounts: &[i64],
    ) -> Result<Vec<RulesetsRead>, StoreError> {
        let mut all = Vec::with_capacity(accounts.len());
        for accounts in accounts.chunks(AT_ONCE) {
            let rulesets = self.some_rulesets(accounts).await?;
            all.extend(accounts.iter().filter_map(|account| rulesets.get(account).cloned()));
        }
        Ok(all)
    }

    async fn some_account_ids(&self, names: &[&str]) -> Result<Vec<Option<i64>>, StoreError> {
        let mut ids: Vec<Option<i64>> = names.iter().map(|name| self.cache.account(name)).collect();
        // PostgreSQL takes no text with a NUL in it, and nobody has such a name.
        let unknown = (0..).zip(&ids).filter(|(_, id)| id.is_none()).map(|(at, _): (usize, _)| at);
        let unknown: Vec<(usize, Moment)> = unknown
            .filter(|at| !names[*at].contains('\0'))
            .map(|at| (at, self.cache.moment(&names[at])))
            .collect();
        if unknown.is_empty() {
            return Ok(ids);
        }
        let asked: Vec<&str> = unknown.iter().map(|(at, _)| names[*at]).collect();
        let select = sql(
            in_list!("select name, id from accounts where disabled_at is null and name", ""),
            filled(&asked),
        );
        let mut found = HashMap::new();
        for mut row in self.engine.read(select).await? {
            found.insert(row.take::<String>()?, row.take::<i64>()?);
        }
        for (at, moment) in unknown {
            if let Some(&id) = found.get(names[at]) {
                self.cache.put_account(names[at], id, moment);
                ids[at] = Some(id);
            }
        }
        Ok(ids)
    }

    async fn some_rulesets(&self, ids: &[i64]) -> Result<HashMap<i64, RulesetsRead>, StoreError> {
        let mut all = HashMap::with_capacity(ids.len());
        let mut unknown: Vec<(i64, Reading)> = Vec::new();
        for &id in ids {
            let reading = self.reading(id);
            match self.cache.rules(id) {
                Some(rulesets) => drop(all.insert(id, RulesetsRead { rulesets, reading })),
                None => unknown.push((id, reading)),
            }
        }
        if unknown.is_empty() {
            return Ok(all);
        }
        let asked: Vec<i64> = unknown.iter().map(|(id, _)| *id).collect();
        let select = sql(
            in_list!(
                "select account_id, scope, version, document from rulesets where account_id",
                " order by account_id, scope"
            ),
            filled(&asked),
        );
        let mut documents: HashMap<i64, Vec<Versioned>> = HashMap::new();
        for mut row in self.engine.read(select).await? {
            let account = row.take()?;
            documents.entry(account).or_default().push(Versioned::read(row)?);
        }
        for (id, reading) in unknown {
            // Those who are named twice have their documents already.
            let read = all.entry(id).or_insert_with(|| {
                let documents = documents.remove(&id).unwrap_or_default();
                RulesetsRead { rulesets: Rulesets::new(documents), reading }
            });
            self.cache.put_rules(id, read.rulesets.clone(), reading.moment);
        }
        Ok(all)
    }
}
