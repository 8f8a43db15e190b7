//! The `heapdump` program: everything is in the library's `cli`.

#[global_allocator]
static ALLOCATOR: heapdump::cli::WatchedAllocator = heapdump::cli::WatchedAllocator;

fn main() -> std::process::ExitCode {
    #[cfg(all(target_os = "linux", feature = "collect"))]
    if let Some(code) = heapdump::collect::run_in_second_process(std::env::args_os()) {
        return code;
    }
    let session = heapdump::cli::Session::default();
    let code = heapdump::cli::run(std::env::args_os(), &session);
    // The system takes a large heap back at once; dropping it piece by piece takes longer.
    std::mem::forget(session);
    code
}
