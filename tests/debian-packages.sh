#!/usr/bin/env bash
# Install the Debian packages named in $PACKAGES that are missing; say what to do where that is not possible.
set -eu
command -v dpkg-query >/dev/null || { echo "Not a Debian system: make sure that there is a Chromium, or tests that need one fail." >&2; exit 0; }
missing=()
for package in $PACKAGES; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ]; then
  echo "Debian packages are missing. Run: sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq install --no-install-recommends --yes "${missing[@]}" >/dev/null
