//! The pages as people use them: a real Chromium, the real binary, and an app that is answered.

mod access;
mod account;
mod app;
mod flow;
mod gallery;
mod languages;
mod plain;
mod scene;
mod screenshots;
mod tab;
