//! `belfry-VERSION-ARCHITECTURE-image.tar`: a container image with the binary, its libraries and
//! the certificate authorities. It is an OCI image layout that also contains the `manifest.json`
//! that `docker save` writes and `docker load` reads.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::contents::Contents;
use crate::libraries::Libraries;
use crate::platform::Platform;
use crate::tree::Tree;
use crate::{PackagingError, programs};

/// The user id and the group id of the process. With a number instead of a name, Kubernetes can
/// verify that it is not root.
const USER_ID: u64 = 65_532;
const DATA_DIR: &str = "var/lib/belfry";
const CERTIFICATES_PATH: &str = "etc/ssl/certs/ca-certificates.crt";

/// Builds the image, with one layer.
pub(crate) fn build(
    contents: &Contents,
    libraries: &Libraries,
    platform: &Platform,
) -> Result<Vec<u8>, PackagingError> {
    let layer = container_files(contents, libraries)?.to_tar(contents.time)?;
    let uncompressed_digest = programs::sha256(&layer)?;
    let version = &contents.version;
    let mut image = Tree::default();

    let layer_blob = add_blob(&mut image, programs::gzip(&layer)?)?;
    let config = serde_json::to_vec(&image_config(contents, platform, &uncompressed_digest))?;
    let config_blob = add_blob(&mut image, config)?;
    let media_type_prefix = "application/vnd.oci.image";
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": format!("{media_type_prefix}.manifest.v1+json"),
        "config": config_blob.descriptor(&format!("{media_type_prefix}.config.v1+json")),
        "layers": [layer_blob.descriptor(&format!("{media_type_prefix}.layer.v1.tar+gzip"))],
    });
    let manifest_blob = add_blob(&mut image, serde_json::to_vec(&manifest)?)?;

    let mut descriptor = manifest_blob.descriptor(&format!("{media_type_prefix}.manifest.v1+json"));
    descriptor["platform"] = json!({ "architecture": platform.debian, "os": "linux" });
    descriptor["annotations"] = json!({
        "org.opencontainers.image.ref.name": version,
        "io.containerd.image.name": format!("docker.io/library/belfry:{version}"),
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": format!("{media_type_prefix}.index.v1+json"),
        "manifests": [descriptor],
    });
    let docker_manifest = json!([{
        "Config": config_blob.path(),
        "RepoTags": [format!("belfry:{version}")],
        "Layers": [layer_blob.path()],
    }]);
    image.add_file("index.json", 0o644, serde_json::to_vec(&index)?);
    image.add_file("manifest.json", 0o644, serde_json::to_vec(&docker_manifest)?);
    image.add_file("oci-layout", 0o644, r#"{"imageLayoutVersion":"1.0.0"}"#);
    Ok(image.to_tar(contents.time)?)
}

/// A file in the image that is named by its SHA-256 digest.
struct Blob {
    digest: String,
    size: usize,
}

impl Blob {
    fn path(&self) -> String {
        format!("blobs/sha256/{}", self.digest)
    }

    /// Returns the OCI descriptor, which refers to the blob from other files.
    fn descriptor(&self, media_type: &str) -> Value {
        let digest = format!("sha256:{}", self.digest);
        json!({ "mediaType": media_type, "digest": digest, "size": self.size })
    }
}

fn add_blob(image: &mut Tree, content: Vec<u8>) -> Result<Blob, PackagingError> {
    let blob = Blob { digest: programs::sha256(&content)?, size: content.len() };
    image.add_file(&blob.path(), 0o644, content);
    Ok(blob)
}

/// Returns the file system of the container.
fn container_files(contents: &Contents, libraries: &Libraries) -> Result<Tree, PackagingError> {
    let mut files = Tree::default();
    files.add_file("usr/bin/belfry", 0o755, contents.binary.as_slice());
    contents.add_licences(&mut files, "usr/share/doc/belfry");
    for path in &libraries.paths {
        files.add_file(relative_path(path), 0o755, fs::read(path)?);
    }
    // The licences of glibc and libgcc.
    for package in ["libc6", "libgcc-s1"] {
        let path = format!("usr/share/doc/{package}/copyright");
        let text = fs::read(format!("/{path}")).map_err(|error| format!("/{path}: {error}"))?;
        files.add_file(&path, 0o644, text);
    }
    let certificates = fs::read(format!("/{CERTIFICATES_PATH}")).map_err(|error| {
        format!("/{CERTIFICATES_PATH}: {error}; install the package ca-certificates")
    })?;
    files.add_file(CERTIFICATES_PATH, 0o644, certificates);
    let user = format!("belfry:x:{USER_ID}:{USER_ID}:Belfry:/{DATA_DIR}:/sbin/nologin\n");
    files.add_file("etc/passwd", 0o644, format!("root:x:0:0:root:/root:/sbin/nologin\n{user}"));
    files.add_file("etc/group", 0o644, format!("root:x:0:\nbelfry:x:{USER_ID}:\n"));
    // glibc contains both services, so no additional library is needed to resolve names.
    files.add_file("etc/nsswitch.conf", 0o644, "hosts: files dns\n");
    files.add_directory("tmp", 0o1777, 0);
    // A new volume gets the owner and mode of this directory.
    files.add_directory(DATA_DIR, 0o700, USER_ID);
    Ok(files)
}

fn relative_path(path: &Path) -> &str {
    path.to_str().unwrap_or_default().trim_start_matches('/')
}

/// Returns the image configuration. The health check is a Docker extension to the OCI format.
fn image_config(contents: &Contents, platform: &Platform, uncompressed_digest: &str) -> Value {
    let nanoseconds = |seconds: u64| seconds * 1_000_000_000;
    json!({
        "created": contents.date,
        "architecture": platform.debian,
        "os": "linux",
        "config": {
            "User": format!("{USER_ID}:{USER_ID}"),
            "ExposedPorts": { "8080/tcp": {} },
            "Env": [
                "PATH=/usr/bin",
                format!("BELFRY_DATA=/{DATA_DIR}"),
                "BELFRY_LISTEN=0.0.0.0:8080",
            ],
            "Entrypoint": ["/usr/bin/belfry"],
            "Cmd": ["serve"],
            "Volumes": { format!("/{DATA_DIR}"): {} },
            "WorkingDir": format!("/{DATA_DIR}"),
            "StopSignal": "SIGTERM",
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/belfry", "health"],
                "Interval": nanoseconds(30),
                "Timeout": nanoseconds(10),
                "StartPeriod": nanoseconds(60),
                "Retries": 3,
            },
            "Labels": {
                "org.opencontainers.image.title": "Belfry",
                "org.opencontainers.image.description": contents.summary,
                "org.opencontainers.image.version": contents.version,
                "org.opencontainers.image.created": contents.date,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{uncompressed_digest}")] },
        "history": [{ "created": contents.date, "created_by": "cargo xtask dist" }],
    })
}
