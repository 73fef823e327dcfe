"""A client of Python's module ssl, used as wolfssl_client.c is: PORT NAME CA CERT KEY VERSION, "-" is no certificate."""

import os
import socket
import ssl
import sys


def main() -> int:
    port, name, authority, certificate, key, version = sys.argv[1:]
    context = ssl.create_default_context(cafile=authority)
    if certificate != "-":
        context.load_cert_chain(certificate, key)
    if version == "12":
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection(("127.0.0.1", int(port))) as plain, context.wrap_socket(plain, server_hostname=name) as node:
        print(node.version(), node.cipher(), file=sys.stderr)
        node.sendall(os.read(0, 1 << 14))
        while part := node.recv(1 << 14):
            os.write(1, part)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:  # What ssl raises is one.
        sys.exit(str(error))
