"""The first frame of a client, byte by byte as docs/reference/wire_format.md has it: by nobody's code but this."""

import struct


def crc32c(data: bytes) -> int:
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = (rest >> 1) ^ (0x82F63B78 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


def hello_frame(client: str = "judge") -> bytes:
    """A Hello for any cluster, version 1, feature Locks."""
    name = client.encode()
    payload = struct.pack("<HHQQH", 1, 1, 1, 0, len(name)) + name
    slot = struct.pack("<HHIQQQQQIIII", 1, 0, 0, 7, 0, 0, 0, 0, 5000, 0, 0, len(payload))
    body = slot + payload
    header = struct.pack("<4sBBHIIQI", b"GCRP", 1, 0, 1, 32 + len(body), crc32c(body), 1, 0)
    return header + struct.pack("<I", crc32c(header)) + body
