use super::*;

#[test]
fn only_user_ids_of_this_server_have_a_localpart() {
    for (id, name) in [
        (user_id("alice", "x.org:8448").as_str(), Some("alice")),
        ("@alice:x.org", None),
        ("@alice", None),
        ("alice:x.org:8448", None),
        ("@:x.org:8448", None),
        ("", None),
    ] {
        assert_eq!(localpart(id, "x.org:8448"), name, "{id}");
    }
}

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

#[test]
fn the_user_is_read_from_the_identifier_or_the_deprecated_field() {
    for body in [
        r#"{"type":"m.login.password","identifier":{"type":"m.id.user","user":"alice"},"password":"p"}"#,
        r#"{"type":"m.login.password","user":"alice","password":"p","device_id":""}"#,
    ] {
        let request = LoginRequest::parse(body.as_bytes()).unwrap();
        assert_eq!((request.user.as_str(), request.password.reveal()), ("alice", "p"), "{body}");
        assert_eq!(request.device, RequestedDevice::default(), "{body}");
    }
    let body = r#"{"type":"m.login.password","user":"a","password":"p","device_id":"DEV"}"#;
    let device = LoginRequest::parse(body.as_bytes()).unwrap().device.into_device([0; 10]);
    assert_eq!(device.id(), "DEV");
}

#[test]
fn invalid_bodies_are_rejected_with_the_reason() {
    for (body, message) in [
        ("{}", "type is missing"),
        ("[]", "the body must be a JSON object"),
        (r#"{"type":1}"#, "type must be a string"),
        (r#"{"type":"m.login.password"}"#, "identifier is missing"),
        (r#"{"type":"m.login.password","user":"a"}"#, "password is missing"),
        (r#"{"type":"m.login.password","user":"a","password":1}"#, "password must be a string"),
        (
            r#"{"type":"m.login.password","identifier":"alice","password":"p"}"#,
            "identifier must be a JSON object",
        ),
        (
            r#"{"type":"m.login.password","identifier":{"type":"m.id.user"},"password":"p"}"#,
            "identifier.user is missing",
        ),
        (
            r#"{"type":"m.login.password","identifier":{"type":"m.id.phone"},"password":"p"}"#,
            "this server supports only the identifier type m.id.user",
        ),
        (
            r#"{"type":"m.login.token","token":"x"}"#,
            "this server supports only the login type m.login.password",
        ),
    ] {
        let error = LoginRequest::parse(body.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), message, "{body}");
    }
    let LoginError::Json(error) = LoginRequest::parse(b"{").unwrap_err() else { panic!() };
    assert!(error.is_syntax_error());
}

#[test]
fn the_stage_is_read_from_the_auth_object() {
    for (body, stage) in [
        ("{}", RegistrationStage::NotStarted),
        (r#"{"auth":{"session":"x"}}"#, RegistrationStage::NotStarted),
        (r#"{"auth":{"type":"m.login.dummy"}}"#, RegistrationStage::Completed),
        (r#"{"auth":{"type":"m.login.dummy","session":"x"}}"#, RegistrationStage::Completed),
        (r#"{"auth":{"type":"m.login.recaptcha"}}"#, RegistrationStage::Unknown),
    ] {
        assert_eq!(RegisterRequest::parse(body.as_bytes()).unwrap().stage, stage, "{body}");
    }
}

#[test]
fn an_application_service_is_recognised_by_the_type() {
    for (body, kind) in [
        (r#"{"type":"m.login.application_service"}"#, RegistrationType::ApplicationService),
        ("{}", RegistrationType::Interactive),
        (r#"{"type":"m.login.dummy"}"#, RegistrationType::Interactive),
        (r#"{"type":1}"#, RegistrationType::Interactive),
        (r#"{"auth":{"type":"m.login.application_service"}}"#, RegistrationType::Interactive),
    ] {
        assert_eq!(RegisterRequest::parse(body.as_bytes()).unwrap().kind, kind, "{body}");
    }
}

#[test]
fn fields_are_read_and_wrong_types_are_rejected() {
    let body = br#"{"username":"a","password":"p","device_id":"D","inhibit_login":true}"#;
    let request = RegisterRequest::parse(body).unwrap();
    assert_eq!(request.username.as_deref(), Some("a"));
    assert_eq!(request.password.unwrap().reveal(), "p");
    assert_eq!(request.device.into_device([0; 10]).id(), "D");
    assert!(request.inhibit_login);
    for (body, message) in [
        (r#"{"username":1}"#, "username must be a string"),
        (r#"{"password":null}"#, "password must be a string"),
        (r#"{"auth":"x"}"#, "auth must be a JSON object"),
        (r#"{"auth":{"type":1}}"#, "auth.type must be a string"),
        (r#"{"inhibit_login":"yes"}"#, "inhibit_login must be a boolean"),
    ] {
        let error = RegisterRequest::parse(body.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), message, "{body}");
    }
}
