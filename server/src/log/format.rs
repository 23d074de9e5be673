//! The formats of log lines. Each line of a request shows the request.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::{DefaultFields, Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::log::request_context::RequestContext;

/// Text, with the fields of the request after those of the event.
#[derive(Default)]
pub(super) struct HumanFields(DefaultFields);

impl<'writer> FormatFields<'writer> for HumanFields {
    fn format_fields<R: RecordFields>(
        &self,
        mut writer: Writer<'writer>,
        fields: R,
    ) -> fmt::Result {
        self.0.format_fields(writer.by_ref(), fields)?;
        RequestContext::read(|request| write!(writer, " {request}")).unwrap_or(Ok(()))
    }
}

/// JSON, with the request in the member `request`.
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
        let Some(Ok(request)) = RequestContext::read(serde_json::to_string) else {
            return self.0.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        match line.strip_suffix("}\n") {
            Some(members) => writeln!(writer, "{members},\"request\":{request}}}"),
            None => writer.write_str(&line),
        }
    }
}
