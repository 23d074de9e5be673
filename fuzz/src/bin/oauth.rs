//! Runs the fuzz target [`belfry_fuzz::oauth`] with libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| belfry_fuzz::oauth::check_input(input));
