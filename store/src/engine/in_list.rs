//! Lists of values in statements, which are read in chunks.

use super::Value;

/// Number of values in one statement: the parameters of [`in_list`].
pub(crate) const CHUNK_LEN: usize = 50;

/// A statement with `in` and a list of the parameters `$1` to `$50`.
macro_rules! in_list {
    ($before:expr, $after:expr) => {
        concat!(
            $before,
            " in ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, \
             $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, \
             $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50)",
            $after
        )
    };
}
pub(crate) use in_list;

/// Pads the list with its first item, so that one statement serves lists of any length.
pub(crate) fn pad_list<T: Clone + Into<Value>>(list: &[T]) -> [Value; CHUNK_LEN] {
    std::array::from_fn(|index| match list.get(index).or(list.first()) {
        Some(item) => item.clone().into(),
        None => Value::Null,
    })
}
