#!/usr/bin/env bash
# Puts passwords into a database of KeePassXC, and writes what `keepassxc-cli analyze --hibp` says of them.
# Usage: keepassxc.sh FOLDER FILE < PASSWORDS, one a line; FOLDER is debian-packages.sh's, FILE one of HASH:COUNT lines
set -euo pipefail
root=$1/root
file=$2
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export HOME=$home QT_QPA_PLATFORM=offscreen PATH=$root/usr/bin:/usr/bin:/bin
for libraries in "$root"/usr/lib/*-linux-gnu*; do
  [ ! -d "$libraries" ] || export LD_LIBRARY_PATH=$libraries
done
database=$home/passwords.kdbx
printf 'key\nkey\n' | keepassxc-cli db-create --quiet --set-password "$database" > /dev/null
while read -r password; do
  printf 'key\n%s\n' "$password" | keepassxc-cli add --quiet --password-prompt "$database" "$password"
done
keepassxc-cli analyze --quiet --hibp "$file" "$database" <<<key
