//! `belfry explain`: evaluates an event for one account, and prints the result of every rule.

mod explanation_text;

use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Write, stdin, stdout};
use std::path::Path;

use belfry_core::json;
use belfry_core::matrix;
use belfry_core::rules::ProfileTag;
use belfry_core::rules::evaluate::Member;
use belfry_core::rules::evaluation_request::{ExplainRoom, RELATED_EVENTS_FORM};
use belfry_core::rules::event::Event;
use belfry_core::rules::explain::EffectiveRules;
use belfry_runtime::file_access::describe_file_error;
use belfry_store::EnabledState;
use clap::Args;
use jiff::Timestamp;
use serde_json::Value;

use self::explanation_text::ExplanationText;
use super::{CliError, Context, DatabaseUse, StoreCommand};
use crate::escape::{escape, escape_json};
use crate::evaluation::event_delivery::{EventDelivery, ExplainResponse};

#[derive(Args)]
pub(super) struct Command {
    /// JSON file with an event, or - for standard input
    event: String,
    /// The account whose rules are evaluated: its name, id, e-mail address or user id
    #[arg(long, value_name = "ACCOUNT")]
    account: String,
    /// The profile tag of a device; its rules rank above the global ones
    #[arg(long, value_name = "TAG")]
    profile_tag: Option<ProfileTag>,
    /// JSON file with the state of the room: `room` in POST …/pushrules/explain
    #[arg(long, value_name = "FILE")]
    room: Option<String>,
    /// JSON file with the events that the event is related to: `related_events` in POST
    /// …/pushrules/explain
    #[arg(long, value_name = "FILE")]
    related_events: Option<String>,
    /// Number of members in the room
    #[arg(long, value_name = "N")]
    member_count: Option<u64>,
    /// The account's display name in the room
    #[arg(long, value_name = "NAME")]
    display_name: Option<String>,
    /// The time for rules with until and conditions about the time, such as 2026-11-18T22:00:00Z
    /// [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    at: Option<Timestamp>,
    /// Print the JSON that POST …/pushrules/explain returns
    #[arg(long)]
    json: bool,
}

/// Maximum size of a file. Events and power levels are at most 64 KiB, so a much larger file is
/// the wrong one.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

impl StoreCommand for Command {
    fn database_use(&self) -> DatabaseUse {
        DatabaseUse::Read
    }

    async fn run(self, context: Context<'_>) -> Result<(), CliError> {
        let Context { store, config, now } = context;
        let event = read_json(&self.event)?;
        check_type(&event).map_err(|error| describe_error(&self.event, &error))?;
        let mut event = Event::from_value(event)
            .ok_or_else(|| describe_error(&self.event, &"an event must be a JSON object"))?;
        if let Some(file) = &self.related_events {
            event = event
                .with_related_events(read_json(file)?)
                .ok_or_else(|| format!("{} must be {RELATED_EVENTS_FORM}", source_name(file)))?;
        }
        let mut explain_room = match &self.room {
            Some(room) => ExplainRoom::parse(&read_file_or_stdin(room)?)
                .map_err(|error| describe_error(room, &error))?,
            None => ExplainRoom::default(),
        };
        explain_room.room.member_count = self.member_count.or(explain_room.room.member_count);
        explain_room.display_name = self.display_name.or(explain_room.display_name);
        let account = context.find_account(&self.account).await?;
        let at = self.at.unwrap_or(now);
        let rulesets = store.rulesets(account.id, at).await?;
        let member = Member {
            display_name: explain_room.display_name.as_deref(),
            profile_tag: self.profile_tag.as_ref().map(ProfileTag::as_str),
        };
        let base_url = config.base_url();
        let user_id = matrix::user_id(&account.name, config.server_name_for(&base_url));
        let rules = EffectiveRules::new(&user_id, rulesets.documents());
        let explanation = rules.explain(&event, &explain_room.room, member, at);
        let state = EnabledState::from_disabled_at(account.disabled_at);
        if self.json {
            let deliveries =
                EventDelivery::load_all(store, account.id, event.event_id(), now).await?;
            let response = ExplainResponse { explanation: &explanation, deliveries };
            let mut json = serde_json::to_value(&response)?;
            if state == EnabledState::Disabled {
                json["notify"] = false.into();
                json["account_disabled"] = true.into();
            }
            writeln!(stdout(), "{}", escape_json(&serde_json::to_string_pretty(&json)?))?;
        } else {
            let text = ExplanationText { explanation: &explanation, state };
            write!(stdout(), "{text}")?;
            if let (Some(id), Some(_)) = (event.event_id(), &config.push.contact) {
                let (name, id) = (&account.name, escape(id));
                writeln!(stdout(), "\ndeliveries: belfry push log {name} --event '{id}'")?;
            }
        }
        Ok(())
    }
}

/// Checks that an event has a type. Without one, rules for messages would silently not match.
fn check_type(event: &Value) -> Result<(), &'static str> {
    if !event.is_object() || event["type"].is_string() {
        Ok(())
    } else if event["event"].is_object() {
        Err("pass the event alone, which is the object in `event`; --room FILE passes `room`")
    } else {
        Err("an event must have a `type`, such as \"m.room.message\"")
    }
}

/// Describes an error in a file. Some errors are also used for requests, and call the file "the
/// body".
fn describe_error(file: &str, error: &dyn Display) -> String {
    let name = source_name(file);
    let message = error.to_string();
    match message.strip_prefix("the body ") {
        Some(problem) => format!("{name} {problem}"),
        None => format!("{name}: {message}"),
    }
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| format!("{text:?} is not a time like 2026-11-18T22:00:00Z"))
}

fn read_json(file: &str) -> Result<Value, CliError> {
    Ok(json::parse(&read_file_or_stdin(file)?).map_err(|error| describe_error(file, &error))?)
}

fn source_name(file: &str) -> &str {
    if file == "-" { "standard input" } else { file }
}

fn read_file_or_stdin(file: &str) -> Result<Vec<u8>, CliError> {
    let name = source_name(file);
    let source: Box<dyn Read> = if file == "-" {
        Box::new(stdin())
    } else {
        let describe_open_error =
            |error| format!("cannot read {name}: {}", describe_file_error(Path::new(file), &error));
        Box::new(File::open(file).map_err(describe_open_error)?)
    };
    let mut bytes = Vec::new();
    let result = source.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    result.map_err(|error| format!("cannot read {name}: {error}"))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("{name} is larger than {MAX_FILE_BYTES} bytes").into());
    }
    Ok(bytes)
}
