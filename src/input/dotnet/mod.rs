//! Parts of the two .NET formats that are alike: names of types as the runtime writes them, and objects that live
//! without a root.

mod names;

pub(super) use names::{clean_type_name, ends_with_rank, file_name_of, repaired_type_name, without_size_suffix};

/// Advice for a trace without a heap snapshot.
pub(super) const HOW_TO_COLLECT: &str = "collect one with the keywords 0x1980001 of Microsoft-Windows-DotNETRuntime at \
     level 5, for instance with `dotnet-trace collect --providers Microsoft-Windows-DotNETRuntime:0x1980001:5`, or take \
     a .gcdump with `dotnet-gcdump collect`";
