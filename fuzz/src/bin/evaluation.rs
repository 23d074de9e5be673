//! Runs the fuzz target [`belfry_fuzz::evaluation`] with libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| belfry_fuzz::evaluation::check_input(input));
