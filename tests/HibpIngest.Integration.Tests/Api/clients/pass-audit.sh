#!/usr/bin/env bash
# Puts passwords into a store of pass, and writes what `pass audit` says of them. It asks https://api.pwnedpasswords.com: HTTPS_PROXY
# and REQUESTS_CA_BUNDLE in the environment say by which proxy, and whom to trust.
# Usage: pass-audit.sh FOLDER < PASSWORDS, one a line; FOLDER is debian-packages.sh's
set -euo pipefail
root=$1/root
home=$(mktemp -d)
export HOME=$home GNUPGHOME=$home/gnupg PASSWORD_STORE_DIR=$home/store PYTHONPATH=$root/usr/lib/python3/dist-packages
export PASSWORD_STORE_ENABLE_EXTENSIONS=true PASSWORD_STORE_EXTENSIONS_DIR=$root/usr/lib/password-store/extensions
# The system's Python before any other that somebody has: the packages are for it.
export PATH=$root/usr/bin:/usr/bin:/bin
[ -f "$PASSWORD_STORE_EXTENSIONS_DIR/audit.bash" ] || unset PASSWORD_STORE_EXTENSIONS_DIR
mkdir -m 700 "$GNUPGHOME"
trap 'gpgconf --kill all; rm -rf "$home"' EXIT
[ ! -x "$root/usr/bin/gpg-agent" ] || echo "agent-program $root/usr/bin/gpg-agent" > "$GNUPGHOME/gpg.conf"
gpg --batch --quiet --passphrase '' --quick-generate-key store@example.com default default never
pass init store@example.com > /dev/null
while read -r password; do
  pass insert --echo "$password" <<<"$password" > /dev/null
done
pass audit | sed 's/\x1b[^m]*m//g'
