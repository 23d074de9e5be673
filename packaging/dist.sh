#!/bin/sh
# Builds the release files into TARGET/packages. `cargo xtask dist` runs this script after checking
# that the tools are installed.
set -eu

target=$1
cd "$(dirname "$0")/.."
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH
version=$(cargo pkgid --package belfry | sed 's/.*[#@]//')
out=$target/packages
share=$target/dist/share
name=belfry-$version-$(uname -m)-linux
rm -rf "$out" "$share"
mkdir -p "$out/$name" "$share/man/man1" "$share/bash-completion/completions" \
    "$share/zsh/site-functions" "$share/fish/vendor_completions.d"

cargo build --locked --profile dist --package belfry --bin belfry
belfry=$target/dist/belfry
cargo run --locked --quiet --package belfry --example man -- "$share/man/man1"
"$belfry" completions bash >"$share/bash-completion/completions/belfry"
"$belfry" completions zsh >"$share/zsh/site-functions/_belfry"
"$belfry" completions fish >"$share/fish/vendor_completions.d/belfry.fish"
"$belfry" config example >"$target/dist/belfry.example.toml"
cargo about generate --locked --fail --config packaging/about.toml \
    --manifest-path server/Cargo.toml --output-file "$target/dist/THIRD-PARTY-LICENSES.txt" \
    packaging/about.hbs

cargo deb --locked --package belfry --no-build --profile dist --output "$out"

# Writes a file into each package of the workspace.
cargo cyclonedx --quiet --manifest-path server/Cargo.toml --format json --spec-version 1.5 \
    --describe binaries --no-build-deps
mv server/belfry_bin.cdx.json "$out/belfry-$version.cdx.json"
rm ./*/*_bin.cdx.json

cp -r README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE-* docs packaging/systemd \
    "$belfry" "$share" "$target/dist/belfry.example.toml" "$target/dist/THIRD-PARTY-LICENSES.txt" \
    "$out/$name"
# Not next to the program, because ./belfry.toml is read by default.
cp packaging/belfry.toml "$out/$name/systemd"
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mode=u+w,go=rX \
    --mtime="@$SOURCE_DATE_EPOCH" --directory "$out" "$name" | gzip --no-name >"$out/$name.tar.gz"
rm -r "${out:?}/$name"

cd "$out"
sha256sum belfry* >SHA256SUMS
cat SHA256SUMS
