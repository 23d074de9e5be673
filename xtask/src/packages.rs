//! What the habits need from the distribution, and getting it when it is missing.

use std::error::Error;
use std::process::{Command, Stdio};

use test_engines::programs;

/// Something that a habit needs, and the packages that bring it.
#[derive(Debug)]
pub(crate) struct Package {
    /// Its name in Debian and Ubuntu.
    apt: &'static str,
    /// Its names for dnf, pacman and brew; empty where another package brings it.
    elsewhere: [&'static str; 3],
    /// A line of shell that succeeds where it is there.
    probe: &'static str,
    /// What it is for, for the person who is asked to install it.
    why: &'static str,
}

const POSTGRESQL: Package = Package {
    apt: "postgresql",
    elsewhere: ["postgresql-server", "postgresql", "postgresql"],
    probe: "command -v initdb && command -v postgres",
    why: "the engine for more than one machine",
};
const REDIS: Package = Package {
    apt: "redis-server",
    elsewhere: ["valkey", "valkey", "valkey"],
    probe: "command -v redis-server || command -v valkey-server",
    why: "counters shared between nodes",
};
const NGINX: Package = Package {
    apt: "nginx",
    elsewhere: ["nginx", "nginx", "nginx"],
    probe: "command -v nginx",
    why: "Belfry behind a proxy and as its gate",
};
const CADDY: Package = Package {
    apt: "caddy",
    elsewhere: ["caddy", "caddy", "caddy"],
    probe: "command -v caddy",
    why: "the same behind another proxy",
};
const CHROMIUM: Package = Package {
    apt: "chromium",
    elsewhere: ["chromium", "chromium", "chromium"],
    probe: "command -v chromium || command -v chromium-browser || command -v google-chrome",
    why: "the pages, as people see them",
};
const CHROMEDRIVER: Package = Package {
    apt: "chromium-driver",
    elsewhere: ["chromedriver", "", "chromedriver"],
    probe: "command -v chromedriver",
    why: "the hand on that browser",
};
const PYTHON: Package = Package {
    apt: "python3-venv",
    elsewhere: ["python3", "python", "python"],
    probe: "command -v python3 && python3 -c 'import venv, ensurepip'",
    why: "clients that others wrote, from PyPI",
};
const NPM: Package = Package {
    apt: "npm",
    elsewhere: ["npm", "npm", "node"],
    probe: "command -v npm",
    why: "axe-core, which looks at the pages for those who cannot",
};
const WRK: Package = Package {
    apt: "wrk",
    elsewhere: ["wrk", "wrk", "wrk"],
    probe: "command -v wrk",
    why: "load for the measurements",
};
const CPP: Package = Package {
    apt: "g++",
    elsewhere: ["gcc-c++", "gcc", "gcc"],
    probe: "command -v c++",
    why: "libFuzzer, which is C++",
};

/// What the tests need.
pub(crate) const FOR_TESTS: &[Package] =
    &[POSTGRESQL, REDIS, NGINX, CADDY, CHROMIUM, CHROMEDRIVER, PYTHON, NPM];
/// What the measurements need.
pub(crate) const FOR_BENCH: &[Package] = &[WRK, POSTGRESQL, REDIS];
/// What the search for strange inputs needs.
pub(crate) const FOR_FUZZ: &[Package] = &[CPP];

/// Installs `$@`, as root. Debian starts a server as soon as it is installed, and again with the
/// machine; we want the programs, not a PostgreSQL on 5432 and an nginx on 80 that nobody asked
/// for. `policy-rc.d` is Debian's own way to say so; it stays only as long as this script.
const INSTALL: &str = r#"
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

/// Sees to it that the packages are there; `may_install` or not, an error says which are not.
pub(crate) fn ensure(packages: &[Package], may_install: bool) -> Result<(), Box<dyn Error>> {
    let wanted = missing(packages, is_there);
    if wanted.is_empty() {
        return Ok(());
    }
    let root = if may_install { as_root() } else { None };
    let (Some(root), true) = (root, is_there("command -v apt-get")) else {
        return Err(advice(&wanted).into());
    };
    let names: Vec<&str> = wanted.iter().map(|package| package.apt).collect();
    println!("installing {} (not as services)", names.join(", "));
    let words = [root, &["sh", "-c", INSTALL, "install"], &names].concat();
    let done = Command::new(words[0]).args(&words[1..]).status()?;
    let left = missing(packages, is_there);
    if done.success() && left.is_empty() {
        return Ok(());
    }
    let left = if left.is_empty() { wanted } else { left };
    Err(format!("apt-get did not bring everything: {done}\n{}", advice(&left)).into())
}

fn missing(packages: &[Package], is_there: impl Fn(&str) -> bool) -> Vec<&Package> {
    packages.iter().filter(|package| !is_there(package.probe)).collect()
}

fn is_there(probe: &str) -> bool {
    Command::new("sh")
        .args(["-c", probe])
        .env("PATH", programs::search_path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// What stands before a command that is to run as root without asking for a password, if it may.
fn as_root() -> Option<&'static [&'static str]> {
    if is_there("[ \"$(id -u)\" = 0 ]") {
        Some(&[])
    } else if is_there("sudo -n true") {
        Some(&["sudo", "-n"])
    } else {
        None
    }
}

/// What a person can do about it.
fn advice(wanted: &[&Package]) -> String {
    let names = |name: &dyn Fn(&Package) -> &'static str| {
        let names = wanted.iter().map(|package| name(package)).filter(|name| !name.is_empty());
        names.collect::<Vec<_>>().join(" ")
    };
    let mut lines = vec!["these are missing:".to_owned()];
    lines.extend(wanted.iter().map(|package| format!("  {:<16} {}", package.apt, package.why)));
    lines.extend([
        "install them, or run this as root or with a sudo that asks for no password:".to_owned(),
        format!("  apt-get install --no-install-recommends {}", names(&|package| package.apt)),
        "elsewhere they are called something like:".to_owned(),
        format!("  dnf install {}", names(&|package| package.elsewhere[0])),
        format!("  pacman -S {}", names(&|package| package.elsewhere[1])),
        format!("  brew install {}", names(&|package| package.elsewhere[2])),
    ]);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_probe_does_not_find_is_missing() {
        let without = |gone: &'static str| {
            let missing = missing(FOR_TESTS, move |probe| !probe.contains(gone));
            missing.iter().map(|package| package.apt).collect::<Vec<_>>()
        };
        assert_eq!(without("no such thing"), [""; 0]);
        assert_eq!(without("valkey-server"), ["redis-server"]);
        assert_eq!(without("chrom"), ["chromium", "chromium-driver"]);
        assert_eq!(
            without("command"),
            FOR_TESTS.iter().map(|package| package.apt).collect::<Vec<_>>()
        );
    }

    #[test]
    fn either_of_two_programs_is_enough() {
        assert!(is_there("command -v no-such-program || command -v sh"));
        assert!(!is_there("command -v no-such-program || command -v no-other"));
    }

    #[test]
    fn the_advice_names_each_package_once_for_each_system() {
        let advice = advice(&[&REDIS, &CHROMEDRIVER]);
        for line in [
            "  apt-get install --no-install-recommends redis-server chromium-driver",
            "  dnf install valkey chromedriver",
            "  pacman -S valkey",
            "  brew install valkey chromedriver",
        ] {
            assert!(advice.lines().any(|found| found == line), "{line} in:\n{advice}");
        }
        assert!(advice.contains(REDIS.why) && !advice.contains(NGINX.why), "{advice}");
    }
}
