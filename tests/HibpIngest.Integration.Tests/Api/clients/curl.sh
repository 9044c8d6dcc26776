#!/usr/bin/env bash
# curl, the machine's or the one that debian-packages.sh unpacked into FOLDER.
# Usage: curl.sh FOLDER ARGUMENT...
set -euo pipefail
root=$1/root
shift
if [ -x "$root/usr/bin/curl" ]; then
  for libraries in "$root"/usr/lib/*-linux-gnu*; do
    export LD_LIBRARY_PATH=$libraries
  done
fi
PATH=$root/usr/bin:/usr/bin:/bin exec curl --silent --show-error "$@"
