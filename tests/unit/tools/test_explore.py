"""`rise explore` as a user runs it: every language, what is refused, and a page that is served."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
import urllib.error
import urllib.request
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from riselang.explorer.page import Page
from riselang.support.errors import UserError
from riselang.support.io import write_file
from riselang.tools import rise, serving
from support.tool_runs import called

pytestmark = pytest.mark.rotating(4)

ROOT = Path(__file__).parents[3]
MODULE = """func.func @negate(%out : memref<4xi32>, %a : memref<4xi32>) {
  rise.lowering_unit {
    %x = rise.in %a : !rise.array<4, scalar<i32>>
    %r = rise.reverse #rise.nat<4> #rise.scalar<i32>
    %y = rise.apply %r, %x
    %z = rise.apply %r, %y
    rise.out %out <- %z
    rise.return
  }
  func.return
}
"""
LOOPS = """void seidel(int n, double A[n][n]) {
#pragma scop
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      A[i][j] = (A[i - 1][j] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j]) / 5.0;
#pragma endscop
}
"""
DOT = "def dot = fun((x : N.f32, y : N.f32), zip(x, y) |> map(mult) |> reduce(add, 0.0))\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dot.rise").write_text(DOT)
    (tmp_path / "negate.mlir").write_text(MODULE)
    return tmp_path


def page_data(path: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*)</script>\n<script>',
                      path.read_text(), re.DOTALL)  # fmt: skip
    assert found is not None
    return json.loads(found[1])


def explored(*arguments: str) -> dict[str, Any]:
    rise.main(["explore", *arguments, "-o", "page.html"])
    return page_data(Path("page.html"))


def linked(data: dict[str, Any], key: str = "affine") -> set[str]:
    """The places in the source that the lines of a stage came from."""
    (stage,) = (each for each in data["stages"] if each["key"] == key)
    parts = {part for part in stage["parts"] if part >= 0}
    return {data["places"][data["parts"][p][1]] for p in parts if data["parts"][p][1] >= 0}


def test_notation_with_a_strategy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = explored("dot.rise", "--size", "N=8", "--strategy", "fuse() >> simplify()")
    assert capsys.readouterr().out == "page.html: 1 step, 6 stages\n"
    assert data["sizes"] == {"N": 8}
    assert data["strategy"] == "fuse() >> simplify()"
    assert "dot.rise:1:65" in linked(data)
    assert data["live"] is None


def test_the_strategy_beside_a_program_is_taken_and_a_name_is_made(folder: Path) -> None:
    (folder / "dot.strategy").write_text("fuse()\n")
    rise.main(["explore", "dot.rise", "--size", "N=8"])
    assert page_data(folder / "dot.html")["strategy"] == "fuse()"
    assert explored("dot.rise", "--size", "N=8", "--strategy", "none")["strategy"] == "none"


def test_a_function_of_mlir_is_lowered_where_it_stands(folder: Path) -> None:
    data = explored("negate.mlir", "--strategy", "simplify()")
    assert data["source"]["language"] == "mlir"
    assert data["steps"]
    (affine,) = (stage for stage in data["stages"] if stage["key"] == "affine")
    head = "func.func @negate(%out: memref<4xi32> {llvm.noalias}, %a: memref<4xi32>)"
    assert head in affine["text"]


def test_a_model_and_its_module(folder: Path) -> None:
    data = explored(str(ROOT / "examples/models/mlp.mlir"))
    assert data["source"]["language"] == "stablehlo"
    # Its ops say names of their framework; what counts here is where they stand.
    assert {"mlp.mlir:9:5", "mlp.mlir:14:5"} <= {re.sub(r":\d+$", ":5", p) for p in linked(data)}
    assert "w1 : 784.128.f32" in data["lines"][0][0]


@pytest.mark.rotating(8)
def test_a_statement_of_c(folder: Path) -> None:
    pytest.importorskip("islpy")
    data = explored(str(ROOT / "examples/c/kernels/gemm.c"))
    assert data["source"]["language"] == "c"
    # The loops that the patterns are, and the operations of the statement.
    loops = {"gemm.c:5:3", "gemm.c:8:5", "gemm.c:9:7"}
    assert linked(data) == loops | {"gemm.c:10:9", "gemm.c:10:20"}
    assert any("gemm" in note for note in data["notes"])


def test_loops_of_c_that_are_no_patterns(folder: Path) -> None:
    pytest.importorskip("islpy")
    (folder / "loops.c").write_text(LOOPS)
    data = explored("loops.c")
    assert [stage["key"] for stage in data["stages"]] == ["affine", "llvm", "optimized", "asm"]
    assert data["steps"] == []
    assert any("not recognized" in line for line, _ in data["lines"])
    # Each loop and the statement, from the source to the assembly.
    for stage in ("affine", "asm"):
        assert {"loops.c:3:3", "loops.c:4:5"} <= linked(data, stage)
        assert any(place.startswith("loops.c:5:") for place in linked(data, stage))
    outcome = called(rise.main, ["explore", "loops.c", "--bench"])
    assert "none of these C loops is lifted" in outcome.errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.rise"], "missing.rise cannot be read"),
        (["dot.rise", "--function", "none"], "no program 'none'"),
        (["dot.rise", "--default", "--strategy", "fuse()"], "pass only one of them"),
        (["dot.rise", "--strategy", "tile(2, 2)"], "does not apply"),
        (["dot.rise", "-o", "no/such/folder.html"], "cannot be written"),
        (["negate.mlir", "--size", "N=4"], "--size is for .rise"),
        (["-"], "name the page with -o"),
        (["dot.rise", "--bench"], "needs its sizes"),
        (["dot.rise", "--serve", "--port", "99999"], "cannot be used"),
        (["-", "--serve"], "but found standard input"),
    ],
)
def test_what_is_refused(folder: Path, arguments: list[str], said: str) -> None:
    outcome = called(rise.main, ["explore", *arguments])
    assert outcome.code == 1
    assert said in outcome.errors
    assert "Traceback" not in outcome.errors
    assert sorted(each.name for each in folder.iterdir()) == ["dot.rise", "negate.mlir"]


def test_a_served_page_follows_its_file(folder: Path) -> None:
    """The page changes with the file, and a mistake is told until it is mended."""
    made: list[str] = []

    def make(options: Namespace, version: str) -> Page:
        text = Path(options.file).read_text()
        made.append(text)
        if "wrong" in text:
            raise UserError("this is wrong")
        return Page({"title": text.strip()[:10], "steps": [], "live": version})

    stop = threading.Event()
    addresses: list[str] = []

    class Stopped(Exception):
        pass

    def sleep(seconds: float) -> None:
        if stop.wait(0.02):
            raise Stopped

    options = Namespace(file="dot.rise", port=0, strategy=None, default=False)

    def run() -> None:
        with pytest.raises(Stopped):
            serving.serve_page(options, make)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving.time, "sleep", sleep)
        patch.setattr("builtins.print", lambda *said, **_: addresses.append(str(said[0])))
        thread = threading.Thread(target=run)
        thread.start()
        try:
            address = until(lambda: next((a for a in addresses if a.startswith("http")), None))
            address = address.split()[0]
            assert until(lambda: version(address)["version"] == "1")
            assert b"def dot" in fetched(address)
            write_file("dot.rise", "wrong")
            assert until(lambda: version(address)["error"] == "error: this is wrong")
            write_file("dot.rise", "mended again")
            assert until(lambda: version(address) == {"version": "3", "error": None})
            assert b"mended aga" in fetched(address)
            with pytest.raises(urllib.error.HTTPError, match="404"):
                fetched(address + "other")
        finally:
            stop.set()
            thread.join()
    with pytest.raises(OSError, match="refused"):
        fetched(address)


def test_a_served_page_is_for_those_who_ask_this_machine() -> None:
    """Not for pages of a site whose name points here."""
    shown = serving.PageState("1", b"the page")
    server = serving.make_server(0, shown)
    port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    own = [f"127.0.0.1:{port}", f"localhost:{port}", "LOCALHOST", "[::1]:80", "localhost:9000"]
    other = ["evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "",
             "localhost.evil.example", f"0.0.0.0:{port}", "localhost:x",
             "evil.example@localhost"]  # fmt: skip
    try:
        for path in ("/", "/version"):
            assert [asked(port, path, host) for host in own] == [200] * len(own)
            assert [asked(port, path, host) for host in other] == [421] * len(other)
            assert asked(port, path) == 421
            assert asked(port, path, "localhost", "evil.example") == 421
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asked(port: int, path: str, *hosts: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest("GET", path, skip_host=True)
    for host in hosts:
        connection.putheader("Host", host)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    assert (b"the page" in content or b"version" in content) == (answer.status == 200)
    return answer.status


def fetched(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.read()


def version(address: str) -> dict[str, Any]:
    return json.loads(fetched(f"{address}version"))


def until(what: Any) -> Any:
    """What it gives, once it gives something."""
    for _ in range(2000):
        if found := what():
            return found
        time.sleep(0.01)
    raise AssertionError("it never came")
