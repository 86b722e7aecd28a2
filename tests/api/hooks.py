"""Adapts Schemathesis' requests to the host that tests/api.sh has set up."""

import itertools
import os

import schemathesis

NUMBERS = itertools.count()
SOCKETS = os.environ["SOCKETS"]
# Later requests need these VMs.
KEPT = ("busy", "idle", "broken")


@schemathesis.hook
def map_body(context, body):
    """Puts the sockets of new VMs into the directory that may contain them.

    Otherwise, almost every new VM would be refused because of its socket.
    """
    if context.operation.method.lower() == "post" and isinstance(body, dict):
        if isinstance(body.get("socket"), str | None):
            return {**body, "socket": f"{SOCKETS}/vm{next(NUMBERS)}"}
    return body


@schemathesis.hook
def map_case(context, case):
    """Removes another VM in place of one that later requests need.

    Most generated names are those of such VMs. If the test dropped their removals, Hypothesis could
    fail it because too little of what it generates is used.
    """
    removes = case.method.lower() == "delete" and case.path == "/v1/vms/{name}"
    if removes and case.path_parameters.get("name") in KEPT:
        case.path_parameters["name"] = "spare"
    return case
