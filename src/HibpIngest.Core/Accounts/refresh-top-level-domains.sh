#!/bin/sh
# Replaces the list of top-level domains next to this script by IANA's current one. Each load records the hash of its
# list and resumes only under that list: after an update, finish or restart open loads (hibp load resume LOAD --restart).
set -eu
cd "$(dirname "$0")"
list=tlds-alpha-by-domain.txt
trap 'rm -f "$list.new"' EXIT
curl --fail --silent --show-error --location --output "$list.new" "https://data.iana.org/TLD/$list"
# IANA's first line is its version; fewer than a thousand names would be a cut-off download.
head -n 1 "$list.new" | grep -q '^# Version [0-9]\{10\}, Last Updated '
test "$(grep -c '^[A-Z0-9-]\{2,63\}$' "$list.new")" -gt 1000
mv "$list.new" "$list"
head -n 1 "$list"
