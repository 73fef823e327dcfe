"""Runs blocks of pages against one node, or compiles them."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List

from blocks import Block

ENDPOINTS = re.compile(r"127\.0\.0\.1:740\d(,127\.0\.0\.1:740\d)*")
PATIENCE = 60  # Seconds; it only bounds a failure.

# Runs a block with top-level await, under the number of its line in the page.
PYTHON = """
import ast, asyncio, sys
given, code, page, line = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
names = {"__name__": "__main__"}
exec(compile(given, page + " (given)", "exec"), names)
flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
coming = eval(compile("\\n" * (line - 1) + code, page, "exec", flags=flags), names)
if coming is not None:
    asyncio.run(coming)
"""

# The last lock that was acquired with -o json fills in TOKEN and SESSION.
GCOORDCTL = """#!/bin/sh
case "$*" in
  *"lock acquire"*"-o json"*) "{real}" "$@" >"{acquired}"; code=$?; cat "{acquired}"; exit $code ;;
  *) exec "{real}" "$@" ;;
esac
"""


@dataclass
class Place:
    """Where blocks run. `root` is the source tree, `bin` has the programs, `library` is the client's."""

    root: Path
    bin: Path
    library: Path
    compiler: str
    scratch: Path
    endpoint: str = ""


class Node:
    """`gcoordd dev` on a port that the system chooses."""

    def __init__(self, place: Place) -> None:
        self._process = subprocess.Popen(
            [place.bin / "gcoordd", "--listen-client", "127.0.0.1:0", "--listen-peer", "127.0.0.1:0", "--listen-metrics",
             "off", "--shards", "64", "--log-level", "off", "dev"], stdout=subprocess.PIPE, text=True, cwd=place.scratch)
        assert self._process.stdout is not None
        ready = self._process.stdout.readline()
        found = re.search(r"client (\S+)", ready)
        if not found:
            raise RuntimeError(f"gcoordd dev did not start: {ready!r}")
        place.endpoint = found[1]

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()


def failed(block: Block, said: str) -> str:
    last = "\n    ".join(said.strip().split("\n")[-12:])
    return f"{block.place}: the block fails:\n    {last}"


def environment(place: Place) -> Dict[str, str]:
    home = {"HOME": str(place.scratch), "XDG_CONFIG_HOME": str(place.scratch / "config")}  # Nothing of the user's.
    own = {name: value for name, value in os.environ.items() if not name.startswith("GCOORD_")}
    return {**own, **home, "GCOORD_CLIENT_LIBRARY": str(place.library), "PYTHONPATH": str(place.root / "client/python"),
            "PYTHONDONTWRITEBYTECODE": "1", "GCOORD_ENDPOINTS": place.endpoint}


def run(command: List[str], place: Place, folder: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    """In a session of its own, whose processes are gone at the end."""
    with tempfile.TemporaryFile("w+", dir=place.scratch) as said:
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, env={**environment(place), **more}, stdin=subprocess.DEVNULL,
                                   stdout=said, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            code = 124
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        if os.environ.get("BLOCK_TIMES"):
            print(f"{time.monotonic() - begin:.1f} s: {' '.join(command)[-60:]!r}", file=sys.stderr)
        said.seek(0)
        return subprocess.CompletedProcess(command, code, said.read())


def here(block: Block, place: Place, text: str) -> str:
    return ENDPOINTS.sub(place.endpoint, text)


def run_python(block: Block, place: Place) -> List[str]:
    given, code = (here(block, place, text) for text in (block.given, block.changed()))
    done = run([sys.executable, "-c", PYTHON, given, code, block.page, str(block.line)], place, place.scratch)
    return [failed(block, done.stdout)] if done.returncode != 0 else []


# ---- shells ----------------------------------------------------------------------------------------------------------


def _wrapper(place: Place, folder: Path) -> Path:
    programs = folder / "bin"
    programs.mkdir()
    script = programs / "gcoordctl"
    script.write_text(GCOORDCTL.format(real=place.bin / "gcoordctl", acquired=folder / "acquired.json"), "utf-8")
    script.chmod(0o755)
    return programs


def _ports() -> str:
    """The first three digits of ports: below those that the system gives out, and mostly others for each process."""
    return str(110 + os.getpid() % 200)


def _shell_line(line: str, folder: Path) -> str:
    """A command until Ctrl-C is interrupted after a while: only wrong usage and the like fail it."""
    for name in ("TOKEN", "SESSION"):
        asked = f"$(sed -n 's/.*\"{name.lower()}\":\"\\([0-9]*\\)\".*/\\1/p' {folder}/acquired.json)"
        line = re.sub(rf"(?<=\s){name}\b", lambda _: asked, line)
    command, sign, comment = line.partition(" #")
    if sign and "Ctrl-C" in comment:
        return f"until_interrupted {command.strip()}"
    return line


SHELL = """set -eEu
trap 'echo "line $LINENO of the page: $BASH_COMMAND: exit $?" >&2' ERR
until_interrupted() { timeout --signal=INT 1 "$@" || case $? in 1|2|3|5) return 1 ;; esac; }
"""


def _prepare(text: str, place: Place, folder: Path, ports: str) -> str:
    if ports:  # A cluster of the page's own.
        for family in ("740", "750", "760", "770"):
            text = text.replace(f"127.0.0.1:{family}", f"127.0.0.1:{ports}{family[1]}")
    else:
        text = here(Block("", 0, "", ""), place, text)
    return text.replace("/var/tmp/", f"{folder}/")


def run_shell(page: List[Block], place: Place) -> List[str]:
    """The blocks of one page in one shell: they share variables and jobs."""
    folder = Path(tempfile.mkdtemp(dir=place.scratch))
    programs, script = _wrapper(place, folder), SHELL
    ports = _ports() if any("--listen-client" in block.code for block in page) else ""
    for block in page:
        code = _prepare(block.given + block.changed(), place, folder, ports)
        before = script.count("\n") + 1 - len(block.given.splitlines())
        script += "\n" * max(0, block.line - before)
        script += "".join(_shell_line(line, folder) + "\n" for line in code.rstrip("\n").split("\n"))
    (folder / "page.sh").write_text(script, "utf-8")
    done = run(["bash", str(folder / "page.sh")], place, folder, PATH=f"{programs}:{place.bin}:{os.environ['PATH']}",
               GCOORD_SHARDS="64", GCOORD_LOG_LEVEL="off")
    return [failed(page[0], done.stdout)] if done.returncode != 0 else []


def run_console(block: Block, place: Place) -> List[str]:
    """Commands after `$ `, and what they print; "..." stands for anything."""
    folder = Path(tempfile.mkdtemp(dir=place.scratch))
    programs, wrong = _wrapper(place, folder), []
    for part in re.split(r"^\$ ", here(block, place, block.given + block.changed()), flags=re.M)[1:]:
        command = re.match(r"(.*\\\n)*.*\n", part)[0]  # type: ignore[index]
        expected = part[len(command):]
        done = run(["bash", "-c", command], place, folder, PATH=f"{programs}:{place.bin}:{os.environ['PATH']}")
        pattern = ".*".join(re.escape(piece) for piece in expected.split("..."))
        if not re.fullmatch(pattern, done.stdout, re.S):
            wrong.append(failed(block, f"$ {command}prints\n{done.stdout}\nand the page says\n{expected}"))
    return wrong


# ---- compilers -------------------------------------------------------------------------------------------------------


def _split(code: str) -> "tuple[str, str]":
    """What stands at the head of a file, with empty lines in its place, and the rest."""
    head = [line for line in code.split("\n") if line.startswith(("#include", "using namespace"))]
    body = ["" if line.startswith(("#include", "using namespace")) else line for line in code.split("\n")]
    return "\n".join(head) + "\n", "\n".join(body)


def _unit(number: int, block: Block, space: bool) -> "tuple[str, str]":
    head, code = _split(block.changed())
    given_head, given = _split(block.given or ("" if "int main" in code else f"void block_{number}(void) {{\n"))
    closing = "}" * (given.count("{") - given.count("}"))
    text = f'{given}\n#line {block.line} "{block.page}"\n{code}\n{closing}\n'
    includes = [line for line in (given_head + head).split("\n") if line.startswith("#include")]
    using = [line for line in (given_head + head).split("\n") if line.startswith("using")]
    if space:
        text = f"namespace block_{number} {{\n" + "\n".join(using) + f"\n{text}}}\n"
    return "\n".join(includes) + "\n", text


def compile_blocks(blocks: List[Block], place: Place, language: str) -> List[str]:
    """All of them in one file, each in a namespace of its own; messages name the lines of the pages."""
    units = [_unit(number, block, language == "cpp") for number, block in enumerate(blocks)]
    source = place.scratch / f"blocks.{'cc' if language == 'cpp' else 'c'}"
    heads = list(dict.fromkeys(line for head, _ in units for line in head.split("\n") if line))
    source.write_text("\n".join(heads) + "\n" + "".join(text for _, text in units), "utf-8")
    compiler = [place.compiler, "-std=c++20"] if language == "cpp" else [shutil.which("cc") or "cc", "-std=c11"]
    done = run([*compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused",
                "-I", str(place.root / "client/include"), str(source)], place, place.scratch)
    return [f"the {language} blocks do not compile:\n    " + done.stdout.replace("\n", "\n    ")] \
        if done.returncode != 0 else []


def run_all(blocks: List[Block], place: Place) -> List[str]:
    wrong: List[str] = []
    at_work = [block for block in blocks if not block.not_run]
    for language in ("cpp", "c"):
        of_language = [block for block in at_work if block.language == language]
        wrong += compile_blocks(of_language, place, language) if of_language else []
    for page in dict.fromkeys(block.page for block in at_work):
        shell = [block for block in at_work if block.page == page and block.language == "sh"]
        wrong += run_shell(shell, place) if shell else []
    for block in at_work:
        if block.language in ("python", "console"):
            wrong += run_python(block, place) if block.language == "python" else run_console(block, place)
    return wrong
