//! Runs the fuzz target [`belfry_fuzz::pattern`] with libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| belfry_fuzz::pattern::check_input(input));
