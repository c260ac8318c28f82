#!/usr/bin/env bash
# Builds Temporal's tdbg, unmodified, into .cache, and prints where it is: at once when it is there already. Of two at once the second waits for
# the first. What Go fetches and compiles stays in its own caches, so that another checkout has it in seconds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

cache=$(cd ../.. && pwd)/.cache
program=$cache/tdbg-$(node -p 'require("node:crypto").createHash("sha256").update(require("node:fs").readFileSync("go.sum")).digest("hex").slice(0, 12)')
mkdir -p "$cache"
if command -v flock >/dev/null 2>&1; then
  exec 9>"$cache/tdbg.lock"
  flock 9
fi
if [ ! -x "$program" ]; then
  # Without tables for debuggers it links in half the time, and is 77 MB instead of 110.
  go build -ldflags='-s -w' -o "$program.new" go.temporal.io/server/cmd/tools/tdbg
  mv "$program.new" "$program"
fi
echo "$program"
