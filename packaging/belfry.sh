#!/bin/sh
# /usr/bin/belfry of the Debian package: runs the program with the settings of belfry.service. If
# root runs it, the program runs as the service's user, because the service could not write to files
# that root owns.
set -eu

export BELFRY_CONFIG="${BELFRY_CONFIG:-/etc/belfry/belfry.toml}"
program=/usr/lib/belfry/belfry
if [ "$(id -u)" != 0 ]; then
    exec "$program" "$@"
fi
# systemd passes these files to the service as credentials.
if [ -e /etc/credstore/belfry.database ]; then
    export BELFRY_DATABASE="${BELFRY_DATABASE:-$(cat /etc/credstore/belfry.database)}"
fi
if [ -e /etc/credstore/belfry.redis ]; then
    export BELFRY_REDIS="${BELFRY_REDIS:-$(cat /etc/credstore/belfry.redis)}"
fi
exec setpriv --reuid=belfry --regid=belfry --init-groups "$program" "$@"
