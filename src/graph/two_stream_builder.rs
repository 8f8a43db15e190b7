//! The builder of dumps in two streams: objects that say how many references they have, and references that follow apart.

use super::BuildError;
use super::builder::{GraphBuilder, SectionInProgress};
use super::object_columns::ObjectColumns;
use super::reference_stream::ReferenceStream;

impl GraphBuilder {
    /// Appends references that came apart from their objects; the object stream's counts say whose they are.
    /// `stride` bytes lie between two of them.
    ///
    /// # Errors
    /// When the dump takes more memory than it may.
    pub fn append_references(&mut self, columns: &ObjectColumns, position: u64, stride: u64) -> Result<(), BuildError> {
        self.check_memory()?;
        self.reference_stream.get_or_insert_default().append(columns, position, stride);
        Ok(())
    }

    /// Calls to `append` so far, and to `append_references`: what `keep_chunks` counts in.
    pub fn chunk_counts(&self) -> (usize, usize) {
        (self.objects.chunks.len(), self.reference_stream.as_ref().map_or(0, ReferenceStream::chunk_count))
    }

    /// Keeps these chunks of the two streams, in this order, and drops all others. For dumps of one section. Costs
    /// nothing when that changes nothing, else a copy of what is kept.
    ///
    /// # Errors
    /// When there is no memory for the copy.
    pub fn keep_chunks(&mut self, objects: &[usize], references: &[usize]) -> Result<(), BuildError> {
        let (object_chunks, reference_chunks) = self.chunk_counts();
        if !objects.iter().copied().eq(0..object_chunks) {
            let copied =
                objects.iter().map(|&number| self.objects.chunks[number].objects.len() as u64 * 16).sum::<u64>();
            self.check_copy_memory(copied)?;
            let mut build = SectionInProgress { has_ascending_ids: true, ..SectionInProgress::default() };
            self.objects = self.objects.of_chunks(objects, |id| build.add_id(id));
            if let Some(section) = self.sections.first_mut() {
                build.section = std::mem::take(&mut section.section);
                *section = build;
            }
        }
        if let Some(stream) = &mut self.reference_stream
            && !references.iter().copied().eq(0..reference_chunks)
        {
            *stream = stream.of_chunks(references);
        }
        Ok(())
    }

    /// Gives the first `objects` objects the first `references` references, as their counts say, and no other object
    /// any. Returns how many references found an object.
    pub fn pair_references(&mut self, objects: usize, references: u64) -> u64 {
        let available = self.reference_stream.as_ref().map_or(0, ReferenceStream::reference_count);
        let available = available.min(usize::try_from(references).unwrap_or(usize::MAX));
        let mut left = available;
        for object in 0..self.objects.reference_counts.len() {
            let own = if object < objects { left.min(self.objects.reference_counts.get(object) as usize) } else { 0 };
            self.objects.reference_counts.set(object, own as u32);
            left -= own;
        }
        let used = available - left;
        if let Some(stream) = &mut self.reference_stream {
            stream.truncate(used);
        }
        used as u64
    }
}
