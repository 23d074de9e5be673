//! Device ids, generated for clients that do not send one.

/// Makes a device id of ten capital letters from ten random bytes.
#[must_use]
pub fn device_id(random: [u8; 10]) -> String {
    random.map(|byte| char::from(b'A' + byte % 26)).iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_id_has_ten_capital_letters() {
        assert_eq!(device_id([0, 1, 25, 26, 27, 255, 2, 3, 4, 5]), "ABZABVCDEF");
    }
}
