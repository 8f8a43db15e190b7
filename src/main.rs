//! The `heapdump` program: everything is in the library's `cli`.

fn main() -> std::process::ExitCode {
    let session = heapdump::cli::Session::default();
    let code = heapdump::cli::run(std::env::args_os(), &session);
    // The system takes a large heap back at once; dropping it piece by piece takes longer.
    std::mem::forget(session);
    code
}
