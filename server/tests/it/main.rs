//! Integration tests of the service over HTTP, on both engines, of the commands and of the process.
//! One binary with a module for each area.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod admin;
mod audit;
mod backup;
mod behind_proxy;
mod browser;
mod commands;
mod connections;
mod cors;
mod delivery;
mod devices;
mod evaluation;
mod front_page;
mod gateway;
mod health;
mod interop;
mod limits;
mod matrix;
mod metrics;
mod notifications;
mod oauth;
mod openapi;
mod owners;
#[cfg(target_os = "linux")]
mod packages;
mod process;
mod readme;
mod requests;
mod rules;
mod security;
mod soak;
mod support;
mod unusual_text;
mod well_known;
mod wire;
