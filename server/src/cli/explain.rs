//! `belfry explain`

mod page;

use std::fs::File;
use std::io::{IsTerminal, Read, stdin, stdout};

use belfry_core::json;
use belfry_core::matrix;
use belfry_core::rules::ProfileTag;
use belfry_core::rules::event::Event;
use belfry_core::rules::matching::{Compiled, Member, Room};
use clap::Args;
use jiff::Timestamp;

use self::page::Page;
use super::Failure;
use super::account::find;
use crate::config::Config;
use crate::store::Store;

#[derive(Args)]
pub(super) struct Arguments {
    /// A file with the JSON of an event, or - for standard input
    event: String,
    /// The account whose rules are asked
    #[arg(long, value_name = "NAME")]
    account: String,
    /// The device whose rules are asked too, above the global ones
    #[arg(long, value_name = "TAG")]
    profile_tag: Option<ProfileTag>,
    /// How many members the room has
    #[arg(long, value_name = "N")]
    member_count: Option<u64>,
    /// What the account's owner is called in the room
    #[arg(long, value_name = "NAME")]
    display_name: Option<String>,
    /// Print what POST …/pushrules/explain answers
    #[arg(long)]
    json: bool,
}

/// No event is larger than 64 KiB; what is much larger is some other file.
const MAX_BYTES: u64 = 1024 * 1024;

pub(super) fn run(
    arguments: Arguments,
    config: &Config,
) -> impl AsyncFnOnce(&Store, Timestamp) -> Result<(), Failure> {
    let base_url = config.base_url(config.listen);
    let user_id = matrix::user_id(&arguments.account, config.name_of_server(&base_url));
    async move |store: &Store, _| {
        let event = read(&arguments.event)?;
        let account = find(store, &arguments.account).await?;
        let rulesets = store.rulesets(account.id).await?;
        let room = Room { member_count: arguments.member_count, power_levels: None };
        let member = Member {
            display_name: arguments.display_name.as_deref(),
            profile_tag: arguments.profile_tag.as_ref().map(ProfileTag::as_str),
        };
        let rules = Compiled::new(&user_id, rulesets.documents());
        let explanation = rules.explain(&event, &room, member);
        if arguments.json {
            println!("{}", serde_json::to_string_pretty(&explanation)?);
        } else {
            print!("{}", Page { explanation: &explanation, colours: wants_colours() });
        }
        Ok(())
    }
}

fn read(name: &str) -> Result<Event, Failure> {
    let source: Box<dyn Read> = if name == "-" {
        Box::new(stdin())
    } else {
        Box::new(File::open(name).map_err(|error| format!("cannot read {name}: {error}"))?)
    };
    let mut bytes = Vec::new();
    let read = source.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot read {name}: {error}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("{name}: an event has at most {MAX_BYTES} bytes").into());
    }
    let event = json::read(&bytes).map_err(|error| format!("{name}: {error}"))?;
    Event::from_value(event).map_err(|_| format!("{name}: an event is a JSON object").into())
}

/// On a terminal, unless somebody asked for none: <https://no-color.org>.
fn wants_colours() -> bool {
    let none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stdout().is_terminal() && !none
}
