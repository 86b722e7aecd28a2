"""Reads a stream of the control API, and checks each line against its schema.

streams.py URL DESCRIPTION events checks the events so far.
streams.py URL DESCRIPTION trace checks the records with which a trace begins.
"""

import json
import sys
import time
import urllib.request

import jsonschema_rs

url, description, stream = sys.argv[1], json.load(open(sys.argv[2])), sys.argv[3]
schema, expected = {
    "events": ("Event", {"device_ended", "vm_failed", "session_started", "session_ended"}),
    "trace": ("TraceRecord", {"state"}),
}[stream]
path = {"events": "/v1/events?since_ms=0", "trace": "/v1/trace"}[stream]
validator = jsonschema_rs.validator_for(
    {"$ref": f"#/components/schemas/{schema}", "components": description["components"]}
)
kinds, count = set(), 0
# The server sends empty lines while it has no events, so `timeout` alone would never expire.
deadline = time.monotonic() + 60
with urllib.request.urlopen(url + path, timeout=30) as response:
    assert response.headers["content-type"] == "application/x-ndjson", response.headers
    while not expected <= kinds:
        line = response.readline()
        assert line, f"{path} ended; it has {kinds}"
        assert time.monotonic() < deadline, f"{path} has only {kinds}"
        # An empty line keeps the connection alive.
        if not line.strip():
            continue
        record = json.loads(line)
        for error in validator.iter_errors(record):
            sys.exit(f"{path}: {error.message} at {error.instance_path}: {line.decode()}")
        kinds.add(record["kind"])
        count += 1
print(f"streams.py: {count} lines of {path} match the description")
