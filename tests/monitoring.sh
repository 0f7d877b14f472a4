#!/bin/bash
# Checks the alerts and the dashboard of packaging/monitoring with promtool of Prometheus: that they are valid,
# and when the alerts fire. That their metrics exist is checked by server/tests/metrics.rs.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=$(command -v promtool || echo "$PWD/build/promtool")
if [ ! -x "$tool" ]; then
    # The program alone: the package would start a server.
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    if (cd "$work" && apt-get download -q prometheus && dpkg-deb -x prometheus_*.deb .) >/dev/null 2>&1; then
        install -D -m 755 "$work/usr/bin/promtool" "$tool"
    else
        echo "skipped: the alerts, because promtool is not here and apt-get cannot download prometheus"
        exit 0
    fi
fi
checked=$(mktemp -d)
trap 'rm -rf "${work:-}" "$checked"' EXIT
cp packaging/monitoring/seconder-alerts.yml tests/monitoring/alerts.yml "$checked/"
# As rules, of which promtool checks the expressions.
python3 - packaging/monitoring/seconder-dashboard.json >"$checked/dashboard.yml" <<'PROGRAM'
import json, sys

panels = json.load(open(sys.argv[1]))["panels"]
assert len({panel["id"] for panel in panels}) == len(panels) > 10
expressions = [target["expr"] for panel in panels for target in panel["targets"]]
rules = [
    {"record": f"panel_{number}", "expr": expression.replace("$__rate_interval", "5m")}
    for number, expression in enumerate(expressions)
]
print(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
PROGRAM
"$tool" check rules "$checked/seconder-alerts.yml" "$checked/dashboard.yml" >"$checked/log" 2>&1 ||
    { cat "$checked/log" >&2; exit 1; }
"$tool" test rules "$checked/alerts.yml"
