#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing of the package sets named on the command line (see packages.txt). Says what
# it will install, asks apt for nothing when all is there. `setup.sh build test`
set -eu
here=$(dirname "$0")
missing=
for set in "$@"; do
	for package in $(sed -n "s/^$set //p" "$here/packages.txt"); do
		state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
		[ "$state" = installed ] || missing="$missing $package"
	done
done
[ -n "$missing" ] || exit 0
sudo=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || {
		echo "setup: these packages are missing and you are not root:$missing" >&2
		echo "setup: run as root: apt-get install$missing" >&2
		exit 1
	}
	sudo=sudo
fi
echo "setup: installing with apt-get:$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get -q update >/dev/null
# shellcheck disable=SC2086 # a list of words
$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing >/dev/null
