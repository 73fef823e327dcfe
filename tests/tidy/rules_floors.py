"""Floors and knowledge: what a folder may include at all, whatever its DEPS say."""

import re
from typing import Iterator

from rules_rooms import rooms_of
from tree import CODE_SUFFIXES, FLOORS, Finding, Tree, folder_of, is_product, top_of

# What a folder must never know, as prefixes of the names in its includes.
CLOCKS_AND_THREADS = ("chrono", "thread", "mutex", "condition_variable", "random", "future")
FORBIDDEN_INCLUDES = {
    "consensus": ("rocksdb/", "ucp/", "ucs/", "asio") + CLOCKS_AND_THREADS,
    "locks": ("rocksdb/", "ucp/", "ucs/", "asio") + CLOCKS_AND_THREADS,
    "membership": ("rocksdb/", "ucp/", "ucs/", "asio", "sys/socket.h") + CLOCKS_AND_THREADS,
    "sessions": ("rocksdb/", "ucp/", "ucs/", "asio", "sys/socket.h") + CLOCKS_AND_THREADS,
    "protocol": ("rocksdb/", "ucp/", "ucs/", "asio", "sys/socket.h") + CLOCKS_AND_THREADS,
    "ledger": ("ucp/", "ucs/", "asio"),
    "netcore": ("rocksdb/",),
    "client": ("rocksdb/", "cuda", "ucp/", "ucs/"),
}
# Libraries that one room of the product has: the others use the room. Beginnings of names in includes -> the room.
BEHIND_A_ROOM = {"nlohmann/": "common/json"}
# What a room must not include of the project, though its floor or its DEPS would let it: beginnings of paths.
HOST_OF_REPLICAS = ("server/replicas/", "server/peers/", "server/host_turn/", "server/resident/")
NEVER = {
    "membership": ("consensus/", "ledger/", "netcore/"),
    "server/device_turn": ("server/", "locks/", "membership/"),
    "server/watch": HOST_OF_REPLICAS,
    "server/waits": HOST_OF_REPLICAS,
    "server/deadlocks": HOST_OF_REPLICAS,
    "server/sessions": HOST_OF_REPLICAS,
    "server/endpoints": HOST_OF_REPLICAS,
    "server/lock_service": ("ledger/disk/", "ledger/wal/", "netcore/transport/", "server/host_turn/", "server/resident/",
                            "server/device_turn/"),
    "server/host_turn": ("server/resident/",),
    "server/resident": ("server/host_turn/",),
}
# Apart from these headers, wherever in those folders they lie.
NEVER_BUT = {"membership": ("configuration.h",)}

# What C programs need too, in gcoord.h.
C_HEADERS = ("stdbool.h", "stddef.h", "stdint.h")
# nvcc 13 rejects these in C++20 (fmt, spdlog) or they cost too much in every .cu file.
FORBIDDEN_IN_HD_HEADERS = ("fmt/", "spdlog/", "grpc", "rocksdb/", "ranges", "format", "nlohmann/", "asio")


def check_floors(tree: Tree) -> Iterator[Finding]:
    """Includes and DEPS only point down; siblings never include one another; every folder of code has a floor."""
    for path in tree.texts:
        if path.endswith(tuple(CODE_SUFFIXES)) and top_of(path) not in FLOORS:
            yield Finding(path, 1, f"{top_of(path)} has no floor in tests/tidy/tree.py")
    if "CMakeLists.txt" in tree.texts:
        for top in sorted(set(FLOORS) - tree.folders):
            yield Finding("tests/tidy/tree.py", 1, f"the floor of {top}, a folder that does not exist")
    for file in tree.code():
        top = top_of(file.path)
        for line, name, _ in file.includes:
            target = "client" if name.startswith("gcoord/") else top_of(name)
            if "/" in name and is_above(target, top):
                yield Finding(file.path, line, f"{top} is not above {target}: \"{name}\"")
    for unit in rooms_of(tree).units:
        top = top_of(unit.path)
        for dep in unit.deps:
            if is_above(top_of(dep), top):
                yield Finding(unit.path, unit.deps_line, f"{top} links {dep}, which is not below it")


def is_above(target: str, top: str) -> bool:
    """Whether `top` may not use `target`; what is no folder of ours is judged by `rooms`."""
    return target in FLOORS and target != top and FLOORS[target] >= FLOORS[top]


def check_never(tree: Tree) -> Iterator[Finding]:
    """Rooms that must not know one another never do: the NEVER table of rules_floors.py."""
    if "CMakeLists.txt" in tree.texts:
        named = set(NEVER) | {each.rstrip("/") for forbidden in NEVER.values() for each in forbidden}
        for room in sorted(named - tree.folders):
            yield Finding("tests/tidy/rules_floors.py", 1, f"NEVER names {room}, a folder that does not exist")
    for file in tree.code():
        folder = folder_of(file.path) + "/"
        for room, forbidden in NEVER.items():
            if not folder.startswith(room + "/"):
                continue
            for line, name, _ in file.includes:
                if name.startswith(forbidden) and not name.startswith(room + "/") and not name.endswith(
                        tuple("/" + header for header in NEVER_BUT.get(room, ("-",)))):
                    yield Finding(file.path, line, f"{room} must never include \"{name}\"")


def check_knowledge(tree: Tree) -> Iterator[Finding]:
    """A folder does not include what it must never know, nor a library that another room stands for; public client headers
    need gcoord/ and std only."""
    for file in tree.code():
        top = top_of(file.path)
        for line, name, _ in file.includes:
            if any(name == bad or (bad.endswith(("/", "asio", "cuda", "grpc")) and name.startswith(bad))
                   for bad in FORBIDDEN_INCLUDES.get(top, ())):
                yield Finding(file.path, line, f"{top} must not know <{name}>")
            for library, room in BEHIND_A_ROOM.items():
                if name.startswith(library) and folder_of(file.path) != room and is_product(file.path):
                    yield Finding(file.path, line, f"<{name}> is behind {room}")
            foreign = not name.startswith("gcoord/") and "." in name and name not in C_HEADERS
            if file.path.startswith("client/include/") and foreign:
                yield Finding(file.path, line, f"a public client header includes \"{name}\"")


def check_hd_headers(tree: Tree) -> Iterator[Finding]:
    """Headers for host and device include nothing that nvcc rejects; only common/ looks at the compiler."""
    for file in tree.code():
        hd = any(name == "common/hd.h" or name.endswith("/hd.h") for _, name, _ in file.includes)
        if hd and file.path.endswith(".h"):
            for line, name, _ in file.includes:
                if name in FORBIDDEN_IN_HD_HEADERS or name.startswith(
                        ("fmt/", "spdlog/", "rocksdb/", "nlohmann/", "grpc")):
                    yield Finding(file.path, line, f"<{name}> in a header for device code")
        if top_of(file.path) not in ("common", "tests") and "__CUDA" in file.text:
            for match in re.finditer(r"__CUDA_ARCH__|__CUDACC__", file.code):
                yield Finding(file.path, file.line_at(match.start()), f"{match.group()} outside common/")
