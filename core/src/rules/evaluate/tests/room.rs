//! Power levels of a room.

use serde_json::json;

use crate::rules::evaluate::*;

#[test]
fn an_unlisted_level_is_the_default() {
    let levels: PowerLevels = serde_json::from_value(json!({
        "users": {"@admin:x": 100, "@old:x": " 40 "}, "users_default": 5, "ban": 50,
        "notifications": {"room": 20},
    }))
    .unwrap();
    assert_eq!(levels.user_level("@admin:x"), PowerLevel(100));
    assert_eq!(levels.user_level("@old:x"), PowerLevel(40));
    assert_eq!(levels.user_level("@else:x"), PowerLevel(5));
    assert_eq!(levels.required_level("room"), PowerLevel(20));
    assert_eq!(levels.required_level("moon"), PowerLevel(50));
    assert_eq!(PowerLevels::default().user_level("@a:x"), PowerLevel(0));
}

#[test]
fn a_level_must_be_an_integer() {
    for level in [json!(1.5), json!("high"), json!(null), json!([1]), json!(u64::MAX)] {
        assert!(serde_json::from_value::<PowerLevel>(level.clone()).is_err(), "{level}");
    }
}
