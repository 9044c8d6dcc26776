#!/bin/sh
# Takes IANA's current list of top-level domains in place of the one beside this script. The list's hash is recorded with every load, and a load
# resumes under the list it started with only, so: finish or restart open loads (hibp load resume LOAD --restart) after an update.
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
