//! Lists of values in statements, which are read in chunks.

use super::Value;

/// Number of values in one statement: the parameters of `{list}`.
pub(crate) const CHUNK_LEN: usize = 50;

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
pub(crate) use list_sql;

/// Pads the list with its first item, so that one statement serves lists of any length.
pub(crate) fn pad_list<T: Clone + Into<Value>>(list: &[T]) -> [Value; CHUNK_LEN] {
    std::array::from_fn(|index| match list.get(index).or(list.first()) {
        Some(item) => item.clone().into(),
        None => Value::Null,
    })
}
