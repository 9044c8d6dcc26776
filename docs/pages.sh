#!/usr/bin/env bash
# Takes the pictures of the pages in docs/pages, light and dark, while the tests of the pages run: bash docs/pages.sh
# Needs the .NET SDK 10, Node 20 or newer, and Debian's package chromium. The names are in the tests (AssertPicturedAsync).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
HIBP_GOLDEN=write exec dotnet test tests/HibpIngest.Integration.Tests -c Release --filter "FullyQualifiedName~BrowserTests|FullyQualifiedName~StatusPageTests"
