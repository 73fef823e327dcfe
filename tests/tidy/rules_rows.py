"""Rows and shards: one becomes the other by a row map only.

A row is a number and a shard a ShardId, so the compiler refuses most mistakes. It lets pass what names the conversion: a
ShardId made of a row, and a shard's number where a row is wanted. Both are right while a map holds all slices, and wrong
with any other (docs/internals/threads.md).
"""

import re
from typing import Iterator

from tree import Finding, Tree, folder_of, is_product, top_of

# Where the conversion stands.
ROW_MAPS = ("consensus/step/row_map.h", "server/device_turn/view.h")
# Whose tables are those of rows. Services have tables of shards.
ROW_FOLDERS = ("consensus/device", "server/device_turn", "server/host_turn", "server/replicas")
# Worlds with a table of their own, in which all shards are.
OWN_WORLDS = ("bench", "chaos")

SHARD_OF_ROW = re.compile(r"\bShardId\{[^{};]*\brow(?:_index)?\b[^{};]*\}")
SHARD_AS_ROW = re.compile(r"(?:\[|\b(?!to_string\b)\w+\()(?:\w+\.)*shard\.value\s*[\],)]")


def check_rows(tree: Tree) -> Iterator[Finding]:
    """A shard becomes a row, and a row a shard, by a row map only."""
    for file in tree.code():
        if not is_product(file.path) or file.path in ROW_MAPS or top_of(file.path) in OWN_WORLDS:
            continue
        for match in SHARD_OF_ROW.finditer(file.code):
            yield Finding(file.path, file.line_at(match.start()), "a row is no shard: RowMap::shard_of or ShardRef::shard says which")
        for match in SHARD_AS_ROW.finditer(file.code) if folder_of(file.path) in ROW_FOLDERS else ():
            yield Finding(file.path, file.line_at(match.start()), "a shard is no row: RowMap::row_of says which")
