//! An output that is begun when there is something to write.

use std::io::{self, Write};

use super::{Output, Target};

impl Target {
    /// An output that is begun with its first byte. `before` is called before that.
    pub fn begin_with_first_byte<F: FnMut()>(&self, before: F) -> LazyOutput<'_, F> {
        LazyOutput { target: self, before, begun: None }
    }
}

/// An output that is begun with its first byte: until then the target is left alone.
pub struct LazyOutput<'t, F> {
    target: &'t Target,
    before: F,
    begun: Option<Output>,
}

impl<F: FnMut()> LazyOutput<'_, F> {
    fn begin(&mut self) -> io::Result<&mut Output> {
        match &mut self.begun {
            Some(out) => Ok(out),
            begun => {
                (self.before)();
                Ok(begun.insert(self.target.begin()?))
            }
        }
    }

    /// Everything is written, if only nothing.
    ///
    /// # Errors
    /// Those of [`Output::finish`].
    pub fn finish(mut self) -> io::Result<()> {
        self.begin()?;
        self.begun.map_or(Ok(()), Output::finish)
    }
}

impl<F: FnMut()> Write for LazyOutput<'_, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begin()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.begun.as_mut().map_or(Ok(()), Output::flush)
    }
}
