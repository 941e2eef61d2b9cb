#!/usr/bin/env bash
# Sessions in a row, COUNT of them (1000), with all that goes wrong in a lab: machines that vanish and
# come back, disks that fail, images that are replaced, and a controller that is killed at any moment.
# No node gets a wrong disk, the state is right, and nothing is left over.
. "$(dirname "$0")/../lab/controller_lib.sh"
controller_lab "${NODES:-4}" 2
controller_up -i 10.9.0.1 -W 40M --patience=6
export T NET STATE URL BIN
on s env PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -E -S "$TOP/tests/soak/sessions.py" "${COUNT:-1000}" "${SEED:-1}" || bad=$((bad + 1))
CONTROLLER=$(cat "$T/controller.pid")
finish
