#!/bin/sh
# Replaces the list of public suffixes next to this script by the current one of publicsuffix.org, without its comments.
set -eu
cd "$(dirname "$0")"
list=public-suffixes.txt
trap 'rm -f "$list.new" "$list.raw"' EXIT
curl --fail --silent --show-error --location --output "$list.raw" "https://publicsuffix.org/list/public_suffix_list.dat"
{
  echo "// Public Suffix List of $(date -u +%Y-%m-%d), without its comments. Licence: Mozilla Public License 2.0, https://mozilla.org/MPL/2.0/."
  sed -n 2p "$list"
  grep -v -e '^//' -e '^[[:space:]]*$' "$list.raw" | cut -d ' ' -f 1
} > "$list.new"
# Fewer rules would be a cut-off download.
test "$(grep -c -v '^//' "$list.new")" -gt 9000
mv "$list.new" "$list"
head -n 1 "$list"
