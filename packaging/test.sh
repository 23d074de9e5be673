#!/bin/sh
# Installs the release files in TARGET/packages and builds the container image, in temporary
# directories: as root, on a machine with debootstrap and buildah. The base of both is Debian 12.
set -eu

target=$1
if [ "$(id -u)" != 0 ]; then
    echo "test.sh: run it as root, because it calls chroot" >&2
    exit 1
fi
cd "$(dirname "$0")/.."
packages=$target/packages
version=$(cargo pkgid --package belfry | sed 's/.*[#@]//')
dir=$(mktemp -d)
chmod 755 "$dir"
server=
stop() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' HUP INT TERM
PORT=18765

fail() {
    echo "test.sh: $*" >&2
    exit 1
}
# Fails unless the first argument contains the second.
contains() {
    case $1 in
    *"$2"*) ;;
    *) fail "not found: $2, in: $1" ;;
    esac
}
# Runs `belfry` in the environment under test with these words in front: starts the server, adds an
# account, issues a token, stores a rule and stops the server.
try_server() {
    "$@" account add alice | grep -q "account alice added"
    token=$("$@" token issue alice --scopes push)
    i=0
    until "$@" health >"$dir/health" 2>&1; do
        i=$((i + 1))
        [ $i -lt 300 ] || fail "not healthy: $(cat "$dir/health")"
        sleep 0.2
    done
    contains "$(cat "$dir/health")" "/healthz: 200 OK"
    rule=$(curl --silent --show-error --fail --request PUT \
        "http://127.0.0.1:$PORT/_matrix/client/v3/pushrules/global/content/cake" \
        --header "Authorization: Bearer $token" --data '{"pattern": "cake", "actions": ["notify"]}')
    [ "$rule" = "{}" ] || fail "no rule stored: $rule"
    kill "$server"
    wait "$server" || fail "the server exited with status $?"
    server=
}

echo "checksums and components"
(cd "$packages" && sha256sum --check --strict --quiet SHA256SUMS)
sbom=$packages/belfry-$version.cdx.json
for name in belfry-core tokio rusqlite ring; do
    grep -q "\"name\": \"$name\"" "$sbom" || fail "$name is not in the SBOM"
done
! grep -q '"name": "\(reqwest\|proptest\|xtask\)"' "$sbom" || fail "the SBOM lists test libraries"

echo "archive"
tar xzf "$packages/belfry-$version-$(uname -m)-linux.tar.gz" --directory "$dir" --strip-components=1
for path in README.md docs/install.md LICENSE-MIT share/man/man1/belfry.1 systemd/belfry.service \
    share/zsh/site-functions/_belfry belfry.example.toml; do
    [ -s "$dir/$path" ] || fail "$path is not in the archive"
done
grep -q "tokio 1\." "$dir/THIRD-PARTY-LICENSES.txt"
[ ! -e "$dir/belfry.toml" ] || fail "./belfry would read belfry.toml"
export BELFRY_DATA="$dir/data" BELFRY_LISTEN="127.0.0.1:$PORT"
"$dir/belfry" serve &
server=$!
try_server "$dir/belfry"
unset BELFRY_DATA BELFRY_LISTEN

echo "Debian package"
debian=$target/debian-12
if [ ! -e "$debian/complete" ]; then
    rm -rf "$debian"
    debootstrap --variant=minbase --include=ca-certificates,mandoc,procps,systemd bookworm "$debian" >"$dir/log" ||
        fail "$(tail "$dir/log")"
    touch "$debian/complete"
fi
root=$dir/debian
cp --archive --reflink=auto "$debian" "$root"
cp "$packages"/belfry_*.deb "$root/belfry.deb"
in_debian() { chroot "$root" "$@"; }
in_debian dpkg --install belfry.deb
# As at boot.
systemd-tmpfiles --root="$root" --create belfry.conf
for expected in "root:belfry 750 /etc/belfry" "root:belfry 640 /etc/belfry/belfry.toml" \
    "belfry:belfry 700 /var/lib/belfry" "root:root 755 /usr/lib/belfry/belfry"; do
    path=${expected##* }
    [ "$(in_debian stat --format="%U:%G %a %n" "$path")" = "$expected" ] ||
        fail "not $expected: $(in_debian stat --format="%U:%G %a" "$path")"
done
in_debian systemctl is-enabled belfry.service >/dev/null || fail "the service is not enabled"
in_debian systemd-analyze verify --man=no belfry.service
# The exposure of a process without any restriction is 100.
in_debian systemd-analyze security --offline=yes --threshold=15 --no-pager belfry.service >"$dir/log" ||
    fail "$(tail -1 "$dir/log")"
in_debian sh -c "mandoc -T lint -W error /usr/share/man/man1/belfry*" || fail "invalid manual pages"
sed -i "s/127.0.0.1:8080/127.0.0.1:$PORT/" "$root/etc/belfry/belfry.toml"
chroot --userspec=belfry:belfry "$root" belfry serve --config /etc/belfry/belfry.toml &
server=$!
try_server chroot "$root" belfry
[ -z "$(in_debian find /var/lib/belfry ! -user belfry)" ] || fail "a command created files as root"

mkdir --parents --mode=700 "$root/etc/credstore"
echo "postgres://me:hunter2@db.internal/belfry?sslmode=require" >"$root/etc/credstore/belfry.database"
contains "$(in_debian belfry config check)" "postgres://me:***@db.internal/belfry"
error=$(chroot --userspec=nobody "$root" belfry account list 2>&1) && fail "nobody can read the settings"
contains "$error" "cannot read /etc/belfry/belfry.toml: permission denied"

in_debian dpkg --install belfry.deb
grep -q "127.0.0.1:$PORT" "$root/etc/belfry/belfry.toml" || fail "an upgrade replaced the settings"
in_debian dpkg --purge belfry
[ ! -e "$root/etc/belfry/belfry.toml" ] || fail "a purge keeps the settings"
[ -e "$root/var/lib/belfry/belfry.db" ] || fail "a purge deletes the data"

echo "container image"
# Works in containers: without overlay mounts and network namespaces.
export BUILDAH_ISOLATION=chroot
run_buildah() { buildah --storage-driver vfs --root "$dir/storage" --runroot "$dir/run" "$@"; }
base=$(run_buildah from scratch)
run_buildah add --quiet "$base" "$debian" / >/dev/null
run_buildah commit --quiet "$base" base >/dev/null
# The program of the archive, instead of a second build.
install -D --target-directory="$dir/build/out/usr/bin" "$target/dist/belfry"
install -d --mode=700 "$dir/build/out/var/lib/belfry"
run_buildah build --quiet --format docker --build-arg BASE=localhost/base \
    --build-context build="$dir/build" --tag belfry . >/dev/null
for field in User:65532:65532 Entrypoint:[/usr/bin/belfry] Cmd:[serve] ExposedPorts:map[8080/tcp \
    Volumes:map[/var/lib/belfry "Healthcheck:[CMD /usr/bin/belfry health]"; do
    value=$(run_buildah inspect --type image --format "{{.Docker.Config.${field%%:*}}}" belfry)
    contains "$value" "${field#*:}"
done
container=$(run_buildah from belfry)
[ "$(run_buildah run "$container" -- stat --format="%u %a" /var/lib/belfry)" = "65532 700" ] ||
    fail "wrong owner or mode of the volume"
# `buildah run` does not forward signals.
root=$(run_buildah mount "$container")
export BELFRY_DATA=/var/lib/belfry BELFRY_LISTEN="127.0.0.1:$PORT"
chroot --userspec=65532:65532 "$root" belfry serve &
server=$!
try_server chroot --userspec=65532:65532 "$root" belfry
echo "packages and image work"
