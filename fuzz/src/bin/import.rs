//! Runs the fuzz target [`belfry_fuzz::import`] with libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| belfry_fuzz::import::check_input(input));
