//! Options of objects as data.

use anyhow::{Result, anyhow, bail};

use super::options::OutputArgs;
use crate::answers::object_data::DataOptions;
use crate::report::Format;
use crate::units::parse_size;

/// Objects as data, in JSON.
#[derive(Debug, clap::Args)]
pub(crate) struct DataArgs {
    /// With each object as data under "json": texts, numbers, lists, maps, and all else by its fields, so many references
    /// deep; 32 at most. With -f json
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=DataOptions::MAX_DEPTH as i64))]
    deep: Option<u8>,
    /// Values of --deep for each object, at most [default: 10,000]
    #[arg(long, value_name = "N", requires = "deep", hide_short_help = true)]
    deep_values: Option<usize>,
    /// Bytes of texts of --deep for each object, at most [default: 1 MiB]
    #[arg(long, value_name = "SIZE", requires = "deep", hide_short_help = true)]
    deep_bytes: Option<String>,
}

impl DataArgs {
    /// The question, in one of some formats.
    pub(crate) fn options(&self, output: &OutputArgs, formats: &[Format]) -> Result<Option<DataOptions>> {
        let Some(depth) = self.deep else { return Ok(None) };
        if !formats.contains(&output.style().format) {
            bail!("--deep: an object as data is in JSON alone; add -f json");
        }
        let default = DataOptions::new(depth.into());
        let max_bytes =
            self.deep_bytes.as_deref().map(parse_size).transpose().map_err(|why| anyhow!("--deep-bytes: {why}"))?;
        Ok(Some(DataOptions {
            max_values: self.deep_values.unwrap_or(default.max_values),
            max_bytes: max_bytes.map_or(default.max_bytes, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            ..default
        }))
    }
}
