#!/usr/bin/env bash
# Unpacks Debian packages, and what they need and this machine has not, into a folder: nothing is installed, and no rights are
# needed. Once: again only for other packages or another release of the system.
# Usage: debian-packages.sh FOLDER PACKAGE...
set -euo pipefail
folder=$1
shift
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
wanted="$* on $(. /etc/os-release && echo "$ID ${VERSION_ID-}")"
[ ! -f "$folder/unpacked" ] || [ "$(<"$folder/unpacked")" != "$wanted" ] || exit 0

rm -rf "$folder/unpacked" "$folder/root" "$folder/apt"
mkdir -p "$folder/root" "$folder/apt/lists/partial" "$folder/apt/archives/partial"
# Lists of its own: those of the system may be old, or taken out, as in a container's image.
apt() {
  apt-get -qq -o Dir::State::lists="$folder/apt/lists" -o Dir::Cache="$folder/apt" -o Dir::Cache::archives="$folder/apt/archives" \
    -o APT::Sandbox::User= -o Debug::NoLocking=1 -o Acquire::Retries=3 "$@"
}
apt update
missing=$(apt --simulate --no-install-recommends install "$@" | awk '$1 == "Inst" { print $2 }')
if [ -n "$missing" ]; then
  # shellcheck disable=SC2086
  (cd "$folder/apt/archives" && apt download $missing)
  for package in "$folder"/apt/archives/*.deb; do
    dpkg-deb --extract "$package" "$folder/root"
  done
fi
rm -rf "$folder/apt"
echo "$wanted" > "$folder/unpacked"
