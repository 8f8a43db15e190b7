//! V8's sampling heap profile: what a program allocates in some time and keeps, by stack. Its end is a garbage collection.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::plan::{collection_pause, target_title};
use super::session::InspectorSession;
use crate::collect::process::Process;
use crate::collect::process_watch::ProcessWatch;
use crate::collect::refusal::{Refusal, RefusalCode, format_seconds};
use crate::collect::request::{DumpOutcome, DumpRequest};
use crate::collect::{CollectPlan, CollectProblem, Collected};

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
    let pause = collection_pause(session.ask_used_heap_bytes()?.unwrap_or_default());
    let text = format!(
        "{target}: its allocations are sampled for {}; it collects garbage at the end, its main thread stops for about {}",
        format_seconds(duration),
        format_seconds(pause)
    );
    request.seek_approval(CollectPlan { text, expected_pause: pause, risk: None })?;
    let DumpRequest { options, mut file, supervisor } = request;
    let mut watch = ProcessWatch::new(process, options.silence_limit, supervisor);
    session.ask_for_end_notice()?;
    // V8 has one sampling at a time: another would go on with that, and end it.
    match session.ask("HeapProfiler.getSamplingProfile", json!({}), &mut watch) {
        Ok(_) => {
            let text = format!("{target} is being sampled already (--heap-prof, developer tools)");
            return Err(Refusal::new(RefusalCode::Busy, text)
                .with_hint("nothing was changed; its own profile has what it allocates"));
        }
        Err(refusal) if refusal.code == RefusalCode::RefusedByTarget => {}
        Err(refusal) => return Err(refusal),
    }
    session.ask("HeapProfiler.startSampling", json!({}), &mut watch)?;
    let end = Instant::now() + duration;
    while Instant::now() < end {
        if session.is_to_end() {
            collected.problems.push(CollectProblem::note("sampled-shorter"));
            break;
        }
        watch.check_progress(true)?;
    }
    let answer = session.ask("HeapProfiler.stopSampling", json!({}), &mut watch)?;
    // How long it stood still is not known: an answer waits until the thread has time for it.
    collected.note_memory_and_pause(&watch, None);
    let foreign = |_| Refusal::protocol("the inspector", "its protocol", answer.get().as_bytes());
    let sampled: SampledProfile<'_> = serde_json::from_str(answer.get()).map_err(foreign)?;
    file.write(sampled.profile.get().as_bytes())?;
    Ok((file, None))
}
