//! The `heapdump` program: everything is in the library's `cli`.

fn main() -> std::process::ExitCode {
    heapdump::cli::main()
}
