//! Matrix devices.

use serde_json::Value;

use crate::json::{Fields, JsonError};

/// Maximum length of a device id, in characters.
const MAX_ID_LENGTH: usize = 255;

/// Maximum length of a display name, in characters. Longer names are truncated.
const MAX_NAME_LENGTH: usize = 100;

/// A device: an installation of a Matrix client, signed in to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    id: String,
    name: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestedDevice {
    id: Option<String>,
    name: Option<String>,
}

impl RequestedDevice {
    /// Reads `device_id` and `initial_device_display_name`. The name is only displayed, so it
    /// never causes an error: control characters become spaces, a long name is truncated, and a
    /// value that is not a string is ignored.
    pub(super) fn from_fields(fields: &mut Fields) -> Result<Self, JsonError> {
        let id = fields.take_string("device_id")?.filter(|id| !id.is_empty());
        let is_invalid =
            |id: &String| id.chars().count() > MAX_ID_LENGTH || id.contains(char::is_control);
        if id.as_ref().is_some_and(is_invalid) {
            let expected = "at most 255 characters without control characters";
            return Err(JsonError::WrongType { field: "device_id".to_owned(), expected });
        }
        let name: String = fields
            .take("initial_device_display_name")
            .as_ref()
            .and_then(Value::as_str)
            .unwrap_or_default()
            .replace(char::is_control, " ")
            .trim()
            .chars()
            .take(MAX_NAME_LENGTH)
            .collect();
        Ok(Self { id, name: Some(name).filter(|name| !name.is_empty()) })
    }

    /// Returns the device, with an id of ten uppercase letters made from random bytes if none is
    /// requested.
    pub fn into_device(self, random_bytes: [u8; 10]) -> Device {
        let random_id = || random_bytes.map(|byte| char::from(b'A' + byte % 26)).iter().collect();
        Device { id: self.id.unwrap_or_else(random_id), name: self.name }
    }
}

impl Device {
    /// Returns the id, which is unique among an account's devices.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the display name, such as "Element on Pixel".
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_device(body: &str) -> Result<Device, JsonError> {
        let device = RequestedDevice::from_fields(&mut Fields::parse(body.as_bytes())?)?;
        Ok(device.into_device([0, 1, 25, 26, 27, 255, 2, 3, 4, 5]))
    }

    #[test]
    fn a_device_without_an_id_gets_one_of_ten_capital_letters() {
        for body in ["{}", r#"{"device_id":""}"#, r#"{"initial_device_display_name":null}"#] {
            assert_eq!(read_device(body).unwrap().id(), "ABZABVCDEF", "{body}");
        }
        assert_eq!(read_device(r#"{"device_id":"PHONE"}"#).unwrap().id(), "PHONE");
    }

    #[test]
    fn a_device_id_has_a_maximum_length_and_no_control_characters() {
        let body = |id: &str| serde_json::json!({ "device_id": id }).to_string();
        assert_eq!(read_device(&body(&"é".repeat(255))).unwrap().id().chars().count(), 255);
        for id in [&*"A".repeat(256), "a\0", "a\nb"] {
            let error = read_device(&body(id)).unwrap_err();
            assert!(matches!(error, JsonError::WrongType { .. }), "{error}");
        }
    }

    #[test]
    fn a_display_name_is_one_short_line() {
        for (name, expected) in [
            ("Element on Pixel", Some("Element on Pixel")),
            (" a\tb\n", Some("a b")),
            (" \0", None),
            ("", None),
        ] {
            let body = serde_json::json!({ "initial_device_display_name": name }).to_string();
            assert_eq!(read_device(&body).unwrap().name(), expected, "{name:?}");
        }
        let body = serde_json::json!({ "initial_device_display_name": "é".repeat(101) });
        assert_eq!(read_device(&body.to_string()).unwrap().name(), Some(&*"é".repeat(100)));
    }
}
