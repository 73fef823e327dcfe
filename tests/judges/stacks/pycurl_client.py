"""libcurl with the OpenSSL of its wheel, which offers hybrid key exchanges: PORT NAME CA CERT KEY VERSION, "-" is no certificate.

Of stdin it takes the page of the first line, and prints the status and the page. PYTHONPATH names the folder of pycurl.
"""

import os
import sys

import pycurl

NOTES = (pycurl.INFOTYPE_TEXT,)


def main() -> int:
    port, name, authority, certificate, key, version = sys.argv[1:]
    page = os.read(0, 1 << 14).split()[1].decode()
    curl = pycurl.Curl()
    curl.setopt(pycurl.URL, f"https://{name}:{port}{page}")
    curl.setopt(pycurl.RESOLVE, [f"{name}:{port}:127.0.0.1"])
    curl.setopt(pycurl.CAINFO, authority)
    if certificate != "-":
        curl.setopt(pycurl.SSLCERT, certificate)
        curl.setopt(pycurl.SSLKEY, key)
    if version == "12":
        curl.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2 | pycurl.SSLVERSION_MAX_TLSv1_2)
    curl.setopt(pycurl.VERBOSE, True)
    curl.setopt(pycurl.DEBUGFUNCTION, lambda kind, text: kind in NOTES and os.write(2, text))
    curl.setopt(pycurl.HEADERFUNCTION, lambda line: os.write(1, line) and None)
    curl.setopt(pycurl.WRITEFUNCTION, lambda part: os.write(1, part) and None)
    curl.perform()
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print(pycurl.version)
        sys.exit(0)
    try:
        sys.exit(main())
    except pycurl.error as error:
        sys.exit(str(error))
