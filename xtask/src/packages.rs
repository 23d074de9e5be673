//! Installing the distribution packages that the tasks need.

use std::error::Error;
use std::process::{Command, Stdio};

use test_engines::programs;

#[derive(Debug)]
pub(crate) struct Package {
    /// The name in Debian and Ubuntu.
    apt: &'static str,
    /// The names for dnf, pacman and brew; empty if the system has no separate package.
    other_names: [&'static str; 3],
    /// A shell command that succeeds if the package is installed.
    probe: &'static str,
    /// The purpose, printed if the package is missing.
    purpose: &'static str,
}

const POSTGRESQL: Package = Package {
    apt: "postgresql",
    other_names: ["postgresql-server", "postgresql", "postgresql"],
    probe: "command -v initdb && command -v postgres",
    purpose: "database tests",
};
const PGBOUNCER: Package = Package {
    apt: "pgbouncer",
    other_names: ["pgbouncer", "pgbouncer", "pgbouncer"],
    probe: "command -v pgbouncer",
    purpose: "tests behind a connection pooler",
};
const REDIS: Package = Package {
    apt: "redis-server",
    other_names: ["valkey", "valkey", "valkey"],
    probe: "command -v redis-server || command -v valkey-server",
    purpose: "tests of shared rate limits",
};
const NGINX: Package = Package {
    apt: "nginx",
    other_names: ["nginx", "nginx", "nginx"],
    probe: "command -v nginx",
    purpose: "tests behind a reverse proxy",
};
const CADDY: Package = Package {
    apt: "caddy",
    other_names: ["caddy", "caddy", "caddy"],
    probe: "command -v caddy",
    purpose: "tests behind a reverse proxy",
};
const CHROMIUM: Package = Package {
    apt: "chromium",
    other_names: ["chromium", "chromium", "chromium"],
    probe: "command -v chromium || command -v chromium-browser || command -v google-chrome",
    purpose: "browser tests",
};
const CHROMEDRIVER: Package = Package {
    apt: "chromium-driver",
    other_names: ["chromedriver", "", "chromedriver"],
    probe: "command -v chromedriver",
    purpose: "drives Chromium",
};
const FIREFOX: Package = Package {
    apt: "firefox-esr",
    other_names: ["firefox", "firefox", "firefox"],
    probe: "command -v firefox-esr || command -v firefox",
    purpose: "tests of notifications in a browser",
};
const PYTHON: Package = Package {
    apt: "python3-venv",
    other_names: ["python3", "python", "python"],
    probe: "command -v python3 && python3 -c 'import venv, ensurepip'",
    purpose: "interoperability tests, schemathesis and pywebpush, from PyPI",
};
const NPM: Package = Package {
    apt: "npm",
    other_names: ["npm", "npm", "node"],
    probe: "command -v npm",
    purpose: "accessibility checks with axe-core, benchmarks against web-push",
};
const WRK: Package = Package {
    apt: "wrk",
    other_names: ["wrk", "wrk", "wrk"],
    probe: "command -v wrk",
    purpose: "load generator",
};
const ZSH: Package = Package {
    apt: "zsh",
    other_names: ["zsh", "zsh", "zsh"],
    probe: "command -v zsh",
    purpose: "tests of completions",
};
const FISH: Package = Package {
    apt: "fish",
    other_names: ["fish", "fish", "fish"],
    probe: "command -v fish",
    purpose: "tests of completions",
};
const MANDOC: Package = Package {
    apt: "mandoc",
    other_names: ["mandoc", "mandoc", "mandoc"],
    probe: "command -v mandoc",
    purpose: "checks the manual page",
};
const PROMETHEUS: Package = Package {
    apt: "prometheus",
    other_names: ["golang-github-prometheus", "prometheus", "prometheus"],
    probe: "command -v promtool",
    purpose: "promtool, which checks metrics and alerts",
};
const CURL: Package = Package {
    apt: "curl",
    other_names: ["curl", "curl", "curl"],
    probe: "command -v curl",
    purpose: "tests of the commands in the documents",
};
const SYSTEMD: Package = Package {
    apt: "systemd",
    other_names: ["systemd", "systemd", ""],
    probe: "command -v systemd-tmpfiles",
    purpose: "tests of the Debian package",
};
const BUILDAH: Package = Package {
    apt: "buildah",
    other_names: ["buildah", "buildah", ""],
    probe: "command -v buildah",
    purpose: "builds the container image",
};
const DEBOOTSTRAP: Package = Package {
    apt: "debootstrap",
    other_names: ["debootstrap", "debootstrap", ""],
    probe: "command -v debootstrap",
    purpose: "a Debian system to install the package in",
};
const CPP: Package = Package {
    apt: "g++",
    other_names: ["gcc-c++", "gcc", "gcc"],
    probe: "command -v c++",
    purpose: "compiles libFuzzer",
};

/// Packages that `cargo xtask test` needs.
pub(crate) const FOR_TESTS: &[Package] = &[
    POSTGRESQL,
    PGBOUNCER,
    REDIS,
    NGINX,
    CADDY,
    CHROMIUM,
    CHROMEDRIVER,
    FIREFOX,
    PYTHON,
    NPM,
    ZSH,
    FISH,
    MANDOC,
    PROMETHEUS,
    CURL,
];
/// Packages that `cargo xtask schemathesis` needs.
pub(crate) const FOR_SCHEMATHESIS: &[Package] = &[PYTHON];
/// Packages that `cargo xtask test --long` needs in addition.
pub(crate) const FOR_LONG_TESTS: &[Package] = &[BUILDAH, DEBOOTSTRAP, SYSTEMD];
/// Packages that `cargo xtask bench` needs.
pub(crate) const FOR_BENCH: &[Package] = &[WRK, POSTGRESQL, REDIS, PYTHON, NPM];
/// Packages that `cargo xtask fuzz` needs.
pub(crate) const FOR_FUZZ: &[Package] = &[CPP];

/// Packages that `cargo xtask torture` needs.
pub(crate) const FOR_TORTURE: &[Package] = &[POSTGRESQL, REDIS];

/// Installs the packages `$@` as root. Debian starts servers when they are installed and at boot;
/// `policy-rc.d` prevents that during the installation, and `systemctl disable` at boot.
const INSTALL_SCRIPT: &str = r#"
set -e
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 130' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
apt-get -q update
apt-get -q install --yes --no-install-recommends "$@"
if [ -d /run/systemd/system ]; then
    for package; do systemctl disable "$package" >/dev/null 2>&1 || true; done
fi
"#;

/// Installs missing packages; the error lists those that are still missing.
pub(crate) fn ensure_installed(
    packages: &[Package],
    may_install: bool,
) -> Result<(), Box<dyn Error>> {
    let missing = find_missing(packages, succeeds);
    if missing.is_empty() {
        return Ok(());
    }
    let prefix = if may_install { root_prefix() } else { None };
    let (Some(prefix), true) = (prefix, succeeds("command -v apt-get")) else {
        return Err(install_instructions(&missing).into());
    };
    let names: Vec<&str> = missing.iter().map(|package| package.apt).collect();
    println!("installing {} (without starting services)", names.join(", "));
    let argv = [prefix, &["sh", "-c", INSTALL_SCRIPT, "install"], &names].concat();
    let status = Command::new(argv[0]).args(&argv[1..]).status()?;
    let still_missing = find_missing(packages, succeeds);
    if status.success() && still_missing.is_empty() {
        return Ok(());
    }
    let still_missing = if still_missing.is_empty() { missing } else { still_missing };
    Err(format!("apt-get: {status}\n{}", install_instructions(&still_missing)).into())
}

fn find_missing(packages: &[Package], is_installed: impl Fn(&str) -> bool) -> Vec<&Package> {
    packages.iter().filter(|package| !is_installed(package.probe)).collect()
}

fn succeeds(probe: &str) -> bool {
    Command::new("sh")
        .args(["-c", probe])
        .env("PATH", programs::search_path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns the prefix that runs a command as root without a password, if that is possible.
fn root_prefix() -> Option<&'static [&'static str]> {
    if succeeds("[ \"$(id -u)\" = 0 ]") {
        Some(&[])
    } else if succeeds("sudo -n true") {
        Some(&["sudo", "-n"])
    } else {
        None
    }
}

/// Describes how to install the packages by hand.
fn install_instructions(missing: &[&Package]) -> String {
    let join_names = |name: &dyn Fn(&Package) -> &'static str| {
        let names = missing.iter().map(|package| name(package)).filter(|name| !name.is_empty());
        names.collect::<Vec<_>>().join(" ")
    };
    let mut lines = vec!["missing packages:".to_owned()];
    lines
        .extend(missing.iter().map(|package| format!("  {:<16} {}", package.apt, package.purpose)));
    lines.extend([
        "install them, or run cargo xtask as root or with passwordless sudo, which installs them:"
            .to_owned(),
        format!("  apt-get install --no-install-recommends {}", join_names(&|package| package.apt)),
        "on other systems:".to_owned(),
        format!("  dnf install {}", join_names(&|package| package.other_names[0])),
        format!("  pacman -S {}", join_names(&|package| package.other_names[1])),
        format!("  brew install {}", join_names(&|package| package.other_names[2])),
    ]);
    lines.join("\n")
}
