#!/bin/sh
# Builds the site of the documentation into site/public, and checks its links. It needs Go, and npm for the diagrams:
# without npm, pages show the text of their diagrams. In CI npm must be there.
set -eu
cd "$(dirname "$0")"

# The last version of Hugo that compiles with the Go version of go.mod.
hugo=v0.165.0

# Mermaid has the version by which tests parse the diagrams. Its packages stay outside of the tree, where checks would read them.
packages=../internal/testenv/diagrams/mermaid
cache=${XDG_CACHE_HOME:-$HOME/.cache}/graphgen/site
rm -rf public assets/mermaid.min.js
if command -v npm >/dev/null; then
	if ! cmp -s $packages/package-lock.json "$cache/installed.json"; then # the copy is made last: an install is whole
		rm -rf "$cache"
		mkdir -p "$cache"
		cp $packages/package.json $packages/package-lock.json "$cache"
		(cd "$cache" && npm ci --ignore-scripts --no-audit --no-fund --silent)
		cp $packages/package-lock.json "$cache/installed.json"
	fi
	cp "$cache/node_modules/mermaid/dist/mermaid.min.js" assets
elif [ -n "${CI:-}" ]; then
	echo "site/build.sh: npm is missing: install Node.js" >&2
	exit 1
fi
CGO_ENABLED=0 go run "github.com/gohugoio/hugo@$hugo" --quiet
go run . public /graphgen/
echo "site: $(find public -name index.html | wc -l | tr -d ' ') pages in site/public"
