//! The `trace` command.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use control_api::TraceRecord;

use super::output::Output;
use crate::client::Client;
use crate::error::CtlError;
use crate::trace::Trace;

/// Maximum number of records in a trace. They need about 1 GiB of memory.
const MAX_RECORDS: u64 = 4_000_000;

/// Records a trace for this time, and writes it to a file, or to standard output if `path` is `-`.
pub(super) async fn record(
    client: &Client,
    output: &Output,
    length: Duration,
    path: &Path,
) -> Result<(), CtlError> {
    // Open the file first, so that an error occurs now and not after the recording.
    let mut file: Box<dyn Write> = match path.as_os_str() == "-" {
        true => Box::new(std::io::stdout().lock()),
        false => {
            let file = std::fs::File::create(path);
            Box::new(file.map_err(CtlError::os(format!("cannot create {}", path.display())))?)
        }
    };
    let (mut trace, mut count) = (Trace::default(), 0);
    let records = client.stream("/v1/trace", |record: &TraceRecord| {
        trace.add(record);
        count += 1;
        match count < MAX_RECORDS {
            true => Ok(()),
            false => Err(CtlError::Answer("the trace is too large; record fewer seconds".into())),
        }
    });
    // If the stream of records ends before the time is over, it has failed.
    if let Ok(failed) = tokio::time::timeout(length, records).await {
        failed?;
    }
    if trace.missed() > 0 {
        let missed = trace.missed();
        output.warn(&format!("{missed} records are missing: this program was too slow"));
    }
    let text = format!("{}\n", trace.finish());
    let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
    written.map_err(CtlError::os(format!("cannot write {}", path.display())))
}
