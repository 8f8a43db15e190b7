#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| heapdump::collect::peer_answers::read_dotnet_answer(bytes));
