//! Objects and bytes by type of a .NET process: counted from a heap snapshot, for its diagnostics have nothing smaller.

use std::fmt::Write;
use std::io::Seek;
use std::sync::Arc;

use crate::collect::Collected;
use crate::collect::process::Process;
use crate::collect::refusal::{Refusal, RefusalCode};
use crate::collect::request::{DumpOutcome, DumpRequest};
use crate::input::{NoObserver, ReadOptions, Source, count_types};

/// Takes a snapshot into a file without a name, and writes its types as SOS does, the largest first. Error: as of a dump;
/// `incomplete` of a snapshot that is not whole.
pub(in crate::collect) fn take_histogram(
    process: &Process,
    request: DumpRequest<'_>,
    collected: &mut Collected,
) -> Result<DumpOutcome, Refusal> {
    let DumpRequest { options, mut file, supervisor } = request;
    let (trace, mut written) = file.create_nameless_beside(options.max_dump_bytes)?;
    let (trace, incomplete) = super::dump(process, DumpRequest { options, file: trace, supervisor }, collected)?;
    drop(trace);
    if let Some(refusal) = incomplete {
        return Err(refusal);
    }
    let failed = |error| {
        Refusal::new(RefusalCode::Protocol, format!("the snapshot of process {} cannot be read: {error}", process.pid))
    };
    written.rewind().map_err(|error| Refusal::system("the snapshot", error))?;
    let source =
        Source::from_reader_observed(written, Arc::new(NoObserver)).map_err(|error| failed(error.to_string()))?;
    let mut types = count_types(source, &ReadOptions::default()).map_err(|error| failed(error.to_string()))?.types;
    types.sort_by(|one, other| other.2.cmp(&one.2).then_with(|| one.0.cmp(&other.0)));
    let mut text = format!("{}\n       Count     TotalSize Class Name\n", collected.taken_at);
    let (mut objects, mut bytes) = (0u64, 0u64);
    for (name, objects_of_type, bytes_of_type) in types {
        (objects, bytes) = (objects.saturating_add(objects_of_type), bytes.saturating_add(bytes_of_type));
        let name = name.replace(char::is_control, "?");
        // A text takes everything.
        let _ = writeln!(text, "{objects_of_type:>12} {bytes_of_type:>13} {name}");
    }
    let _ = writeln!(text, "Total {objects} objects, {bytes} bytes\n");
    file.write(text.as_bytes())?;
    Ok((file, None))
}
