"""A pytest plugin that runs about one of $SHARDS tests, chosen by name, so that they're the same in
every run."""

import os
import zlib


def pytest_collection_modifyitems(config, items):
    shards = int(os.environ.get("SHARDS", "1"))
    left_out = [item for item in items if zlib.crc32(item.nodeid.encode()) % shards]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
