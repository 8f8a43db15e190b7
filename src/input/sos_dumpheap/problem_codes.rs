//! The stable codes of this format's problems (docs/formats/sos-dumpheap.md, "Problems").

use crate::input::ProblemCode;
use crate::input::histogram_text::TableCodes;

pub(super) static CODES: TableCodes = TableCodes {
    estimated_row: Some(ProblemCode::warning(
        "one-size",
        "rows of arrays and strings of dotnet-gcdump report, which tells the size of one of them: their bytes are an estimate",
    )),
    bad_row: ProblemCode::warning("bad-row", "rows without readable numbers or a name; skipped"),
    no_total: ProblemCode::warning(
        "no-total",
        "histograms without their line of totals: cut, or only the first lines of them; what is missing is not counted",
    ),
    wrong_total: ProblemCode::warning("wrong-total", "histograms whose line of totals is not the sum of their rows"),
};
