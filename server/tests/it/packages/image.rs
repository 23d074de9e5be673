//! The container image: its files, and a container that is a `chroot` with the image's settings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use test_engines::{free_port, programs};

use super::name_server::NameServer;
use super::{VERSION, can_install, expect_success, packages};
use crate::support::process::belfry_command;
use crate::support::{ServerProcess, TestDatabase, report_skipped};

/// The unpacked image archive.
struct Image {
    dir: TempDir,
    manifest: Value,
    config: Value,
}

impl Image {
    fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut tar = Command::new("tar");
        expect_success(tar.arg("xf").arg(&packages().image).arg("-C").arg(dir.path()));
        let index = read_json(&dir.path().join("index.json"));
        let manifest = read_json(&blob_path(dir.path(), &index["manifests"][0]["digest"]));
        let config = read_json(&blob_path(dir.path(), &manifest["config"]["digest"]));
        Self { dir, manifest, config }
    }

    /// Returns the path of the image's blob with this digest.
    fn blob_path(&self, digest: &Value) -> PathBuf {
        blob_path(self.dir.path(), digest)
    }

    /// Returns a list of strings in the image's configuration.
    fn config_strings(&self, name: &str) -> Vec<String> {
        let list = self.config["config"][name].as_array().unwrap().iter();
        list.map(|word| word.as_str().unwrap().to_owned()).collect()
    }

    /// Returns the command of the health check.
    fn health_command(&self) -> Vec<String> {
        let test = self.config["config"]["Healthcheck"]["Test"].as_array().unwrap();
        assert_eq!(test[0], "CMD");
        test[1..].iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    }
}

fn blob_path(dir: &Path, digest: &Value) -> PathBuf {
    dir.join("blobs").join(digest.as_str().unwrap().replace(':', "/"))
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A container: the image's layers, unpacked into a directory.
struct Container {
    image: Image,
    root: TempDir,
    /// The server's port, instead of the image's port.
    port: u16,
}

impl Container {
    fn create() -> Self {
        let image = Image::open();
        let root = tempfile::tempdir().unwrap();
        expect_success(Command::new("chmod").arg("755").arg(root.path()));
        for layer in image.manifest["layers"].as_array().unwrap() {
            let mut tar = Command::new("tar");
            tar.args(["--extract", "--gzip", "--same-owner", "--same-permissions", "--file"]);
            expect_success(tar.arg(image.blob_path(&layer["digest"])).arg("-C").arg(root.path()));
        }
        Self { image, root, port: free_port().unwrap() }
    }

    /// Returns a command in the container, as `docker run` and `docker exec` start it.
    fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(programs::find(&["chroot"]).unwrap());
        let user = self.image.config["config"]["User"].as_str().unwrap();
        command.arg(format!("--userspec={user}")).arg("--groups=").arg(self.root.path());
        command.args(words).env_clear();
        for variable in self.image.config_strings("Env") {
            let (name, value) = variable.split_once('=').unwrap();
            command.env(name, value);
        }
        command.env("BELFRY_LISTEN", format!("127.0.0.1:{}", self.port));
        command
    }

    /// Returns a command like `docker exec belfry …`.
    fn exec(&self, words: &[&str]) -> Command {
        self.command(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    /// Starts the server like `docker run`.
    fn run(&self, dir: &Path) -> ServerProcess {
        let words =
            [self.image.config_strings("Entrypoint"), self.image.config_strings("Cmd")].concat();
        ServerProcess::launch(self.command(&words), dir)
    }
}

#[tokio::test]
#[ignore = "long: builds the packages"]
async fn the_image_runs_as_its_user_and_is_healthy() {
    if !can_install() {
        return;
    }
    let container = Container::create();
    let dir = tempfile::tempdir().unwrap();
    let mut server = container.run(dir.path());
    let health_command = container.image.health_command();
    let output = expect_success(&mut container.command(&health_command));
    assert!(output.contains("/healthz: 200 OK"), "{output}");

    let authorities_path = container.root.path().join("etc/ssl/certs/ca-certificates.crt");
    let authorities = fs::read_to_string(authorities_path).unwrap();
    assert!(authorities.matches("BEGIN CERTIFICATE").count() > 50);
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    assert!(status.contains("\nUid:\t65532\t65532\t65532\t65532\n"), "{status}");
    let output = expect_success(&mut container.exec(&["belfry", "account", "add", "alice"]));
    assert!(output.contains("account alice added"), "{output}");
    let issue_token = ["belfry", "token", "issue", "alice", "--scopes", "push"];
    let token = expect_success(&mut container.exec(&issue_token));
    let url = format!("{}/_matrix/client/v3/pushrules/global/content/cake", server.url);
    let request = reqwest::Client::new().put(url).bearer_auth(token.trim());
    let response = request.body(r#"{"pattern":"cake","actions":["notify"]}"#).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(container.root.path().join("var/lib/belfry/belfry.db").exists());

    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let output = container.command(&health_command).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

/// glibc resolves names without additional libraries, which the image would not contain.
#[tokio::test]
#[ignore = "long: builds the packages"]
async fn the_image_resolves_a_database_name_by_dns() {
    if !can_install() {
        return;
    }
    let Some(database) = TestDatabase::postgres().await else { return };
    let container = Container::create();
    let name_server = NameServer::start("db.belfry.test");
    let resolver = format!("nameserver {}\n", name_server.address);
    fs::write(container.root.path().join("etc/resolv.conf"), resolver).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let url = database.url().unwrap();
    assert!(url.contains("127.0.0.1"), "{url}");
    let run_with_host = |arguments: &[&str], host: &str| {
        let url = url.replace("127.0.0.1", host);
        let mut command = container.exec(&[&["belfry"], arguments].concat());
        command.env("BELFRY_DATABASE", url).output().unwrap()
    };
    let output = run_with_host(&["account", "add", "alice"], "db.belfry.test");
    assert!(output.status.success(), "{output:?}");
    let output = run_with_host(&["account", "list"], "other.belfry.test");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("failed to lookup address"), "{message}");

    let list =
        belfry_command(dir.path(), &["account", "list", "--database", url]).output().unwrap();
    assert!(String::from_utf8(list.stdout).unwrap().contains("alice"));
}

#[test]
#[ignore = "long: builds the packages"]
fn blobs_are_named_by_their_digests() {
    let image = Image::open();
    let descriptors = [&image.manifest["config"], &image.manifest["layers"][0]];
    for descriptor in descriptors {
        let path = image.blob_path(&descriptor["digest"]);
        assert_eq!(fs::metadata(&path).unwrap().len(), descriptor["size"].as_u64().unwrap());
        let digest = expect_success(Command::new("sha256sum").arg(&path));
        let digest = digest.split(' ').next().unwrap();
        assert_eq!(descriptor["digest"], format!("sha256:{digest}"));
    }
    let layer = image.blob_path(&image.manifest["layers"][0]["digest"]);
    let unpack = format!("gzip -dc {} | sha256sum", layer.display());
    let digest = expect_success(Command::new("sh").args(["-c", &unpack]));
    let digest = format!("sha256:{}", digest.split(' ').next().unwrap());
    assert_eq!(image.config["rootfs"]["diff_ids"], serde_json::json!([digest]));

    let docker_manifest = read_json(&image.dir.path().join("manifest.json"));
    assert_eq!(docker_manifest[0]["RepoTags"][0], format!("belfry:{VERSION}"));
    for path in [&docker_manifest[0]["Config"], &docker_manifest[0]["Layers"][0]] {
        assert!(image.dir.path().join(path.as_str().unwrap()).exists(), "{path}");
    }
}

/// skopeo uses the library of Podman and CRI-O, and verifies all digests.
#[test]
#[ignore = "long: builds the packages"]
fn skopeo_accepts_the_image_as_oci_and_docker_archive() {
    let Some(skopeo) = programs::find(&["skopeo"]) else {
        return report_skipped("skopeo", "it is not installed");
    };
    let image = packages().image.display();
    for format in ["oci-archive", "docker-archive"] {
        let dir = tempfile::tempdir().unwrap();
        let target = format!("dir:{}", dir.path().join("copy").display());
        let mut copy = Command::new(&skopeo);
        copy.args(["--insecure-policy", "copy", "--quiet", &format!("{format}:{image}"), &target]);
        expect_success(&mut copy);
        assert!(dir.path().join("copy/manifest.json").exists(), "{format}");
    }
}
