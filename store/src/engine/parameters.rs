//! Named parameters of statements: `$name` in the text becomes `$1`, `$2` and so on, and `{name}` a
//! fragment, at compile time, so both engines get a constant string.

use super::Value;
use super::fragments::FRAGMENTS;

/// Creates a statement with named parameters, whose values are given as in `format!`:
/// `sql!("update accounts set role = $role where id = $id", [id, role = Role::Admin])`. Fragments
/// of this statement alone follow in braces: `{table = "codes"}`.
macro_rules! sql {
    ($sql:expr $(,)?) => {
        $crate::engine::sql!($sql, [])
    };
    ($sql:expr, $values:tt $(,)?) => {
        $crate::engine::sql!($sql, $values, {})
    };
    ($sql:expr, [$($name:ident $(= $value:expr)?),* $(,)?], $fragments:tt $(,)?) => {
        $crate::engine::Statement::new(
            $crate::engine::numbered_sql!(0, $sql, [$($name),*], $fragments),
            $crate::engine::values![$($name $(= $value)?),*],
        )
    };
}

/// The SQL text with these parameters, numbered in this order after `$offset`, and the fragments of
/// this statement alone.
macro_rules! numbered_sql {
    (
        $offset:expr, $sql:expr, [$($name:ident),*],
        {$($fragment:ident = $text:expr),* $(,)?}
    ) => {{
        use $crate::engine::NumberedSql;
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        const FRAGMENTS: &[(&str, &str)] = &[$((stringify!($fragment), $text)),*];
        const SQL: &str = $sql;
        // The length must not depend on a function of this crate: an optimised build would need
        // its code while it checks the caller's types, which the compiler rejects.
        const LEN: usize = {
            let mut len = 2 * SQL.len() $(+ 2 * $text.len() + 1024)*;
            let mut index = 0;
            while index < SQL.len() {
                if SQL.as_bytes()[index] == b'{' {
                    len += 1024;
                }
                index += 1;
            }
            len
        };
        const TEXT: &NumberedSql<LEN> = &NumberedSql::new(SQL, NAMES, FRAGMENTS, $offset);
        const { TEXT.as_str() }
    }};
}

/// The values of named parameters.
macro_rules! values {
    ($($name:ident $(= $value:expr)?),*) => {
        vec![$($crate::engine::values!(@one $name $(= $value)?)),*]
    };
    (@one $name:ident) => { $crate::engine::Value::from($name) };
    (@one $name:ident = $value:expr) => { $crate::engine::Value::from($value) };
}

/// Creates a statement with a list of values, `in ({list})`, and other named parameters:
/// `list_sql!(ids, "select name from apps where id in ({list}) and name > $after", [after])`.
macro_rules! list_sql {
    ($list:expr, $sql:expr, [$($name:ident $(= $value:expr)?),*]) => {{
        let mut values = Vec::from($crate::engine::pad_list($list));
        values.extend($crate::engine::values![$($name $(= $value)?),*] as Vec<_>);
        let sql = $crate::engine::numbered_sql!(
            $crate::engine::CHUNK_LEN, $sql, [$($name),*], {}
        );
        $crate::engine::Statement::new(sql, values)
    }};
}

pub(crate) use {list_sql, numbered_sql, sql, values};

/// Number of values in one statement: the parameters of `{list}`.
pub(crate) const CHUNK_LEN: usize = 50;

/// Pads the list with its first item, so that one statement serves lists of any length.
pub(crate) fn pad_list<T: Clone + Into<Value>>(list: &[T]) -> [Value; CHUNK_LEN] {
    std::array::from_fn(|index| match list.get(index).or(list.first()) {
        Some(item) => item.clone().into(),
        None => Value::Null,
    })
}

/// A statement with numbered parameters, in a buffer of `N` bytes.
pub(crate) struct NumberedSql<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> NumberedSql<N> {
    /// Replaces each `$name` with the position of the name, counted from `offset`, each `{name}` with the fragment of this
    /// name, and each sequence of spaces and line breaks with one space.
    ///
    /// # Panics
    /// At compile time, if a parameter is not in the list of names, a name is not a parameter, or
    /// there is no such fragment.
    pub(crate) const fn new(
        sql: &str,
        names: &[&str],
        fragments: &[(&str, &str)],
        offset: usize,
    ) -> Self {
        let mut text = Self { bytes: [0; N], len: 0 };
        let used_names = text.push_sql(sql.as_bytes(), names, fragments, offset);
        assert!(
            used_names == (1 << names.len()) - 1,
            "a value is given for a name without a parameter"
        );
        if text.len > 0 && text.bytes[text.len - 1] == b' ' {
            text.len -= 1;
        }
        text
    }

    const fn push_sql(
        &mut self,
        mut sql: &[u8],
        names: &[&str],
        fragments: &[(&str, &str)],
        offset: usize,
    ) -> u64 {
        let mut used_names = 0_u64;
        while let [byte, rest @ ..] = sql {
            sql = rest;
            match *byte {
                b'$' if matches!(rest, [b'0'..=b'9', ..]) => self.push(b'$'),
                b'$' => {
                    let index;
                    (index, sql) = strip_name(rest, names);
                    used_names |= 1 << index;
                    self.push(b'$');
                    self.push_number(offset + index + 1);
                }
                b'{' => {
                    let fragment;
                    (fragment, sql) = match strip_fragment(rest, fragments) {
                        Some(found) => found,
                        None => strip_fragment(rest, FRAGMENTS).expect("a known fragment"),
                    };
                    used_names |= self.push_sql(fragment.as_bytes(), names, fragments, offset);
                }
                b' ' | b'\n' => {
                    if self.len > 0 && self.bytes[self.len - 1] != b' ' {
                        self.push(b' ');
                    }
                }
                byte => self.push(byte),
            }
        }
        used_names
    }

    const fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    const fn push_number(&mut self, number: usize) {
        if number >= 10 {
            self.push_number(number / 10);
        }
        self.push(b"0123456789"[number % 10]);
    }

    pub(crate) const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => panic!("the text is not UTF-8"),
        }
    }
}

/// Finds the fragment whose name, with a closing brace, is at the start of the text. Returns it, and
/// the rest of the text.
const fn strip_fragment<'a, 'b>(
    text: &'a [u8],
    fragments: &[(&str, &'b str)],
) -> Option<(&'b str, &'a [u8])> {
    let mut index = 0;
    while index < fragments.len() {
        let (name, fragment) = fragments[index];
        if let Some([b'}', rest @ ..]) = strip_prefix(text, name.as_bytes()) {
            return Some((fragment, rest));
        }
        index += 1;
    }
    None
}

const fn strip_prefix<'a>(mut text: &'a [u8], mut prefix: &[u8]) -> Option<&'a [u8]> {
    while let ([first, others @ ..], [byte, rest @ ..]) = (prefix, text)
        && *first == *byte
    {
        (prefix, text) = (others, rest);
    }
    if prefix.is_empty() { Some(text) } else { None }
}

/// Finds the name at the start of the text. Returns its position in the list, and the rest of the
/// text.
const fn strip_name<'a>(text: &'a [u8], names: &[&str]) -> (usize, &'a [u8]) {
    let mut index = 0;
    while index < names.len() {
        if let Some(rest) = strip_prefix(text, names[index].as_bytes())
            && !matches!(rest, [b'a'..=b'z' | b'0'..=b'9' | b'_', ..])
        {
            return (index, rest);
        }
        index += 1;
    }
    panic!("a parameter of the statement has no value")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_parameters_are_numbered_in_value_order() {
        let id = 1_i64;
        let identity = "é";
        let statement = sql!("select $identity, 'é', $id, $id2, $id", [id, id2 = 2_i64, identity]);
        assert_eq!(statement.sql, "select $3, 'é', $1, $2, $1");
        assert_eq!(statement.values, [Value::from(1_i64), Value::from(2_i64), Value::from("é")]);
        let text = numbered_sql!(0, "$a$b$c$d$e$f$g$h$i$j", [j, a, b, c, d, e, f, g, h, i], {});
        assert_eq!(text, "$2$3$4$5$6$7$8$9$10$1");
        let statement = sql!(
            r"
                select name
                from apps
                where {changes_disabled_state}
                  and id = $id
            ",
            [disabled_at = 5_i64, id]
        );
        assert_eq!(
            statement.sql,
            "select name from apps where (disabled_at is null) = (cast($1 as bigint) is not null) \
             and id = $2"
        );
    }
}
