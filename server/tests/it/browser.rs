//! The pages in a real Chromium, with the real binary and an app that receives the responses.

mod access;
mod account;
mod app;
mod devices;
mod fixture;
mod flow;
mod gallery;
mod languages;
mod notifications;
mod plain;
mod presses;
mod screenshots;
mod security;
mod tab;
