//! Named parameters of statements: `$name` in the text becomes `$1`, `$2` and so on at compile
//! time, so both engines get a constant string.

/// Creates a statement with named parameters, whose values are given as in `format!`:
/// `sql!("update accounts set role = $role where id = $id", [id, role = Role::Admin])`.
macro_rules! sql {
    ($sql:expr $(,)?) => {
        $crate::engine::sql!($sql, [])
    };
    ($sql:expr, [$($name:ident $(= $value:expr)?),* $(,)?] $(,)?) => {
        $crate::engine::Statement::new(
            $crate::engine::numbered_sql!($sql $(, $name)*),
            $crate::engine::values![$($name $(= $value)?),*],
        )
    };
}

/// The SQL text with these parameters, numbered in this order.
macro_rules! numbered_sql {
    ($sql:expr $(, $name:ident)*) => {{
        use $crate::engine::NumberedSql;
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        const SQL: &str = $sql;
        // The length must not depend on a function of this crate: an optimised build would need
        // its code while it checks the caller's types, which the compiler rejects.
        const TEXT: &NumberedSql<{ 2 * SQL.len() }> = &NumberedSql::new(SQL, NAMES);
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

pub(crate) use {numbered_sql, sql, values};

/// A statement with numbered parameters, in a buffer of `N` bytes.
pub(crate) struct NumberedSql<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> NumberedSql<N> {
    /// Replaces each `$name` with the position of the name.
    ///
    /// # Panics
    /// At compile time, if a parameter is not in the list of names, or a name is not a parameter.
    pub(crate) const fn new(sql: &str, names: &[&str]) -> Self {
        let mut text = Self { bytes: [0; N], len: 0 };
        let mut sql = sql.as_bytes();
        let mut used_names = 0_u64;
        while let [byte, rest @ ..] = sql {
            text.push(*byte);
            sql = rest;
            if *byte == b'$' {
                let index;
                (index, sql) = strip_name(rest, names);
                used_names |= 1 << index;
                text.push_number(index + 1);
            }
        }
        assert!(
            used_names == (1 << names.len()) - 1,
            "a value is given for a name without a parameter"
        );
        text
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

/// Finds the name at the start of the text. Returns its position in the list, and the rest of the
/// text.
const fn strip_name<'a>(text: &'a [u8], names: &[&str]) -> (usize, &'a [u8]) {
    let mut index = 0;
    while index < names.len() {
        let mut name = names[index].as_bytes();
        let mut rest = text;
        while let ([first, others @ ..], [byte, after @ ..]) = (name, rest)
            && *first == *byte
        {
            (name, rest) = (others, after);
        }
        let is_whole_name = !matches!(rest, [b'a'..=b'z' | b'0'..=b'9' | b'_', ..]);
        if name.is_empty() && is_whole_name {
            return (index, rest);
        }
        index += 1;
    }
    panic!("a parameter of the statement has no value")
}

#[cfg(test)]
mod tests {
    use crate::engine::Value;

    #[test]
    fn named_parameters_are_numbered_in_value_order() {
        let id = 1_i64;
        let identity = "é";
        let statement = sql!("select $identity, 'é', $id, $id2, $id", [id, id2 = 2_i64, identity]);
        assert_eq!(statement.sql, "select $3, 'é', $1, $2, $1");
        assert_eq!(statement.values, [Value::from(1_i64), Value::from(2_i64), Value::from("é")]);
        let text = numbered_sql!("$a$b$c$d$e$f$g$h$i$j", j, a, b, c, d, e, f, g, h, i);
        assert_eq!(text, "$2$3$4$5$6$7$8$9$10$1");
    }
}
