#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| heapdump::collect::peers::read_dotnet(bytes));
