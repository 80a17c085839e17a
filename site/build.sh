#!/bin/sh
# Builds the site of the documentation into site/public, and checks its links. It needs Go, and npm for the diagrams:
# without npm, pages show the text of their diagrams. In CI npm must be there.
set -eu
cd "$(dirname "$0")"

# The last version of Hugo that compiles with the Go version of go.mod.
hugo=v0.165.0

rm -rf public
modules=../docs/testdata/mermaid
if command -v npm >/dev/null; then
	[ -e $modules/node_modules/mermaid ] || (cd $modules && npm ci --ignore-scripts --no-audit --no-fund --silent)
elif [ -n "${CI:-}" ]; then
	echo "site/build.sh: npm is missing: install Node.js" >&2
	exit 1
fi
CGO_ENABLED=0 go run "github.com/gohugoio/hugo@$hugo" --quiet
go run . public /graphgen/
echo "site: $(find public -name index.html | wc -l | tr -d ' ') pages in site/public"
