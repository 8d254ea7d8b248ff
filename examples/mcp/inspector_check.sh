#!/usr/bin/env bash
# Lets a client that is not this module's own, the command line of the MCP Inspector,
# list and call tools of the built server: on standard input and output and by HTTP,
# with the protocol that has sessions and with the one that has none. Needs Go, node
# and npm; writes only below a temporary directory and npm's own cache.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

inspector=@modelcontextprotocol/inspector@2.12.0

if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
  echo "skipped: npm is not installed"
  exit 0
fi

tmp=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server"; } || true
  rm -rf "$tmp"
}
trap cleanup EXIT

# As the README builds it, which says how large it is.
CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -ldflags "-s -w" -o "$tmp/mcp" .
size=$(wc -c <"$tmp/mcp")
[ "$size" -lt 18000000 ] || { echo "wrong: the binary has $size bytes, and the README says 15.8 MB"; exit 1; }

# All tools are listed where their variables and pilotctl are; none is reached.
mkdir "$tmp/bin"
printf '#!/bin/sh\nexit 1\n' >"$tmp/bin/pilotctl"
chmod +x "$tmp/bin/pilotctl"
npm_config_cache=$(npm config get cache)
npm_config_userconfig=$(npm config get userconfig)
export npm_config_cache npm_config_userconfig npm_config_update_notifier=false
export HOME="$tmp" PATH="$tmp/bin:$PATH"
export OTTERSD_URL="unix://$tmp/none.sock" OTTERS_AGENT_TOKEN=none
cat >"$tmp/tools.yaml" <<'YAML'
tools:
  - {name: sh, description: Runs a shell., binary: sh}
  - {name: cat, description: Prints files., binary: cat, parallel: true}
YAML

inspect() { npx --yes "$inspector" --cli --quiet "$@"; }

if ! npx --yes "$inspector" --cli --help >"$tmp/help" 2>&1; then
  echo "skipped: npm cannot fetch the Inspector here, or node is too old for it:"
  tail -n 5 "$tmp/help"
  exit 0
fi

# expect WHAT EXPRESSION: the JSON on standard input, r, makes the expression true.
expect() {
  node -e '
    const r = JSON.parse(require("fs").readFileSync(0, "utf8"));
    if (!eval(process.argv[2])) {
      console.error("wrong: " + process.argv[1] + "\n" + JSON.stringify(r, null, 1).slice(0, 4000));
      process.exit(1);
    }
    console.log("ok: " + process.argv[1]);' "$1" "$2"
}

# check NAME ARGUMENTS: how the Inspector reaches the server.
check() {
  local name=$1
  shift
  inspect "$@" --method tools/call --tool-name sh --tool-args-json '{"args":["-c","echo \"$0\"","--it'\''s me"]}' |
    expect "$name calls a tool" 'r.content.length === 1 && r.content[0].text === "--it'\''s me\n" && !r.isError'
}

for_stdio=("$tmp/mcp" -tools "$tmp/tools.yaml")
inspect "${for_stdio[@]}" -e "PATH=$PATH" -e "OTTERSD_URL=$OTTERSD_URL" -e "OTTERS_AGENT_TOKEN=$OTTERS_AGENT_TOKEN" \
  --method tools/list --strict |
  expect "it lists all tools, with schemas that all clients accept" \
    'r.tools.length === 2 + 6 + 21 && r.tools.find(t => t.name === "cat").annotations.readOnlyHint && r.tools.find(t => t.name === "pilot_send").annotations.destructiveHint'
status=0
inspect "${for_stdio[@]}" --method tools/call --tool-name sh --tool-args-json '{"args":["-c","exit 3"]}' >"$tmp/failed" 2>/dev/null || status=$?
expect "an error is a result that says so" 'r.isError && r.content[0].text === "exit code 3, no output"' <"$tmp/failed"
[ "$status" = 5 ] || { echo "wrong: the Inspector's status of an error is $status, and not 5"; exit 1; }
for era in legacy modern; do
  check "stdio, $era," "${for_stdio[@]}" --protocol-era $era
done

mkfifo "$tmp/log"
"$tmp/mcp" -tools "$tmp/tools.yaml" -http 127.0.0.1:0 2>"$tmp/log" &
server=$!
exec 3<"$tmp/log"
url=
while [ -z "$url" ] && read -r line <&3; do
  case $line in *" serving "*) url=${line##* } ;; esac
done
for era in legacy modern; do
  check "HTTP, $era," --server-url "$url" --transport http --protocol-era $era
done
