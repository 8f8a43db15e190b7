//! A file in the address space.
#![allow(
    unsafe_code,
    reason = "memory-mapping: opening an index of gigabytes must not read it, nor keep what was read of it"
)]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a whole file, read-only.
pub(super) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapped bytes must not change while they are borrowed. Indexes are never written in place: a new one
    // is written aside and renamed over the old, which lives on for those who have it mapped. Whoever overwrites or
    // cuts an index by other means while it is read breaks this; what follows then is what the system does to a mapping
    // of a cut file (the process is ended), or a wrong number read after its block was checked.
    unsafe { Mmap::map(file) }
}

/// Gives back the memory of pages that were read; they are there again when they are read again.
#[cfg(unix)]
pub(super) fn release_pages(map: &Mmap) {
    // SAFETY: pages of a file that is mapped to be read alone have nothing in them that the file has not. A system that
    // keeps them does no harm.
    let _kept = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
}

/// Such a call is not known of this system.
#[cfg(not(unix))]
pub(super) fn release_pages(_: &Mmap) {}
