//! The `events` command.

use control_api::{ApiError, ErrorCode, Event, EventKind, VmInfo};

use super::output::Output;
use super::path::vm_path;
use crate::client::Client;
use crate::error::CtlError;
use crate::since::Since;
use crate::table::{printable, timestamp};

pub(super) async fn print_all(
    client: &Client,
    output: &Output,
    vm: Option<&str>,
    since: Option<Since>,
) -> Result<(), CtlError> {
    if let Some(name) = vm
        && let Err(CtlError::Refused(ApiError { code: ErrorCode::NotFound, message, .. })) =
            client.get::<VmInfo>(&vm_path(name)?).await
    {
        output.warn(&format!(
            "{message}; printing the events of former and future VMs with this name"
        ));
    }
    let query = since.map(|since| format!("?since_ms={}", since.time_ms()));
    let query = query.unwrap_or_default();
    client
        .stream(&format!("/v1/events{query}"), |event: &Event| {
            // Even with --vm, print an event about missed events, because they may have been about
            // that VM.
            let missed = event.kind == EventKind::Missed;
            if vm.is_none() || vm == event.vm.as_deref() || missed {
                output.line(event, &describe(event))?;
            }
            Ok(())
        })
        .await
}

fn describe(event: &Event) -> String {
    let mut text = format!("{} {}", timestamp(event.time_ms), event.kind.name());
    if let Some(vm) = &event.vm {
        text.push_str(&format!(" vm={vm}"));
    }
    if let Some(session) = event.session {
        text.push_str(&format!(" session={session}"));
    }
    if let Some(gpu) = event.gpu {
        text.push_str(&format!(" gpu={gpu}"));
    }
    if let Some(uid) = event.uid {
        text.push_str(&format!(" uid={uid}"));
    }
    if let Some(reason) = event.reason {
        text.push_str(&format!(" reason={}", reason.name()));
    }
    printable(&format!("{text}: {}", event.message))
}

#[cfg(test)]
mod tests {
    use control_api::EndReason;

    use super::*;

    #[test]
    fn an_event_is_printed_on_one_line() {
        let event = Event {
            id: 1,
            time_ms: 1_700_000_000_123,
            kind: EventKind::SessionEnded,
            vm: Some("web".into()),
            session: Some(2),
            gpu: None,
            uid: Some(1000),
            reason: Some(EndReason::KilledByOperator),
            message: "an\noperator\u{1b}[2J".into(),
        };
        let text = "2023-11-14T22:13:20Z session_ended vm=web session=2 uid=1000 reason=killed_by_operator: an?operator?[2J";
        assert_eq!(describe(&event), text);
    }
}
