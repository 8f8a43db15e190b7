//! V8's sampling heap profile: what a program allocates in some time and keeps, by stack. Nothing stands still.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::plan::target_title;
use super::session::InspectorSession;
use crate::collect::process::Process;
use crate::collect::process_watch::ProcessWatch;
use crate::collect::refusal::{Refusal, format_seconds};
use crate::collect::request::{DumpOutcome, DumpRequest};
use crate::collect::{CollectPlan, Collected};

/// Answer of `HeapProfiler.stopSampling`.
#[derive(Deserialize)]
struct SampledProfile<'a> {
    #[serde(borrow)]
    profile: &'a RawValue,
}

/// Lets V8 sample for `duration`, or until the process is to end, and takes the profile. V8 samples every 32 KiB or so of
/// what is allocated, and forgets samples whose objects are collected.
pub(super) fn take_profile(
    session: &mut InspectorSession,
    process: Option<&Process>,
    mut request: DumpRequest<'_>,
    duration: Duration,
    collected: &mut Collected,
) -> Result<DumpOutcome, Refusal> {
    let target = target_title(process, session.socket.peer(), collected);
    let text = format!("{target}: its allocations are sampled for {}; nothing stands still", format_seconds(duration));
    request.seek_approval(CollectPlan { text, expected_pause: Duration::ZERO, risk: None })?;
    let DumpRequest { options, mut file, supervisor } = request;
    let mut watch = ProcessWatch::new(process, options.silence_limit, supervisor);
    session.ask_for_end_notice()?;
    session.ask("HeapProfiler.startSampling", json!({}), &mut watch)?;
    let end = Instant::now() + duration;
    while Instant::now() < end && !session.is_to_end() {
        watch.check_progress(true)?;
    }
    let answer = session.ask("HeapProfiler.stopSampling", json!({}), &mut watch)?;
    let foreign = |_| Refusal::protocol("the inspector", "its protocol", answer.get().as_bytes());
    let sampled: SampledProfile<'_> = serde_json::from_str(answer.get()).map_err(foreign)?;
    file.write(sampled.profile.get().as_bytes())?;
    collected.note_memory_and_pause(&watch, None);
    Ok((file, None))
}
