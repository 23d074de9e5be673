//! Runs the fuzz target [`belfry_fuzz::rule`] with libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| belfry_fuzz::rule::check_input(input));
