//! Looks for an input that breaks a promise of [`belfry_fuzz::evaluation`].

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| belfry_fuzz::evaluation::check(input));
