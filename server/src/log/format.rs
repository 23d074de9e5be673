//! The formats of log lines. Lines about a request show its context, and all text is escaped.

use std::fmt;

use tracing::field::Field;
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::{Format, Json, Writer, debug_fn};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::escape::{escape, escape_json};
use crate::log::request_context::RequestContext;

/// Formats fields as text: those of the event, then those of the request.
pub(super) struct HumanFields;

impl<'writer> FormatFields<'writer> for HumanFields {
    fn format_fields<R: RecordFields>(
        &self,
        mut writer: Writer<'writer>,
        fields: R,
    ) -> fmt::Result {
        debug_fn(write_field).format_fields(writer.by_ref(), fields)?;
        RequestContext::with_current(|request| write!(writer, " {request}")).unwrap_or(Ok(()))
    }
}

/// Writes a field as `tracing_subscriber` does, but with more characters escaped.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let debug_text = format!("{value:?}");
    let text = escape(&debug_text);
    match field.name() {
        "message" => writer.write_str(&text),
        // In records of the `log` crate, these repeat what the line already shows.
        name if name.starts_with("log.") => Ok(()),
        name if writer.has_ansi_escapes() => {
            write!(writer, " \x1b[3m{name}\x1b[0m\x1b[2m=\x1b[0m{text}")
        }
        name => write!(writer, " {name}={text}"),
    }
}

/// Formats events as JSON, with the request in the member `request`.
pub(super) struct JsonEvents(pub(super) Format<Json>);

impl<S, N> FormatEvent<S, N> for JsonEvents
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        if let Some(members) = line.strip_suffix("}\n")
            && let Some(Ok(request)) = RequestContext::with_current(serde_json::to_string)
        {
            line = format!("{members},\"request\":{request}}}\n");
        }
        writer.write_str(&escape_json(&line))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use serde_json::{Value, json};
    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::registry::Registry;

    use super::*;

    /// Text that would change the colour, reverse the text after it, and begin a new line.
    const UNSAFE_TEXT: &str = "a\u{1b}[31m\u{9b}1m\u{202e}\u{7f}\nb";

    /// Logs an event to a file through a layer, and returns the file's content.
    fn log_event<L: Layer<Registry> + Send + Sync>(new_layer: impl Fn(Arc<File>) -> L) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        let layer = new_layer(Arc::new(file.reopen().unwrap()));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::info!(text = UNSAFE_TEXT, shown = %UNSAFE_TEXT, "message {UNSAFE_TEXT}");
        });
        std::fs::read_to_string(file.path()).unwrap()
    }

    #[test]
    fn text_in_a_json_line_is_escaped() {
        let line = log_event(|file| {
            let json = tracing_subscriber::fmt::layer().json().flatten_event(true);
            json.map_event_format(JsonEvents).with_writer(file)
        });
        let line = line.strip_suffix('\n').unwrap();
        assert!(line.is_ascii() && !line.contains(char::is_control), "{line:?}");
        let fields: Value = serde_json::from_str(line).unwrap();
        assert_eq!([&fields["text"], &fields["shown"]], [&json!(UNSAFE_TEXT); 2]);
    }

    #[test]
    fn text_in_a_human_readable_line_is_escaped() {
        let escaped = "\\u{1b}[31m\\u{9b}1m\\u{202e}\\u{7f}";
        for (has_ansi, equals) in [(false, "="), (true, "\u{1b}[0m\u{1b}[2m=\u{1b}[0m")] {
            let line = log_event(|file| {
                tracing_subscriber::fmt::layer()
                    .fmt_fields(HumanFields)
                    .without_time()
                    .with_level(false)
                    .with_target(false)
                    .with_writer(file)
                    .with_ansi(has_ansi)
            });
            let name_style = if has_ansi { "\u{1b}[3m" } else { "" };
            let expected = format!(
                "message a{escaped}\\u{{a}}b {name_style}text{equals}\"a{escaped}\\nb\" \
                 {name_style}shown{equals}a{escaped}\\u{{a}}b\n"
            );
            assert_eq!(line, expected);
        }
    }
}
