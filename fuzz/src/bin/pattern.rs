//! Looks for an input that breaks a promise of [`belfry_fuzz::pattern`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| belfry_fuzz::pattern::check(input));
