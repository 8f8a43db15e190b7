//! Compares text with a file; `HEAPDUMP_UPDATE=1` rewrites the file.

use super::cmd::project;

/// Returns true if files are to be rewritten and not compared.
pub fn is_update() -> bool {
    std::env::var_os("HEAPDUMP_UPDATE").is_some()
}

/// Fails with both texts in full unless `actual` is what `tests/expected/<name>` holds.
pub fn expect_file(name: &str, actual: &str) {
    let path = project("tests/expected").join(name);
    if is_update() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("can be made");
        std::fs::write(&path, actual).expect("can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} differs; HEAPDUMP_UPDATE=1 cargo test rewrites it\n--- expected\n{expected}\n--- actual\n{actual}",
        path.display()
    );
}
