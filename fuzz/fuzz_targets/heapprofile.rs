#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| heapdump_fuzz::read("heapprofile", bytes));
