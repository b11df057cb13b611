"""Files are written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from riselang.support.errors import UserError
from riselang.support.io import write_file


def test_a_file_is_written_and_written_over(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    write_file(target, "one")
    write_file(str(target), b"two")
    assert target.read_bytes() == b"two"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("where", ["chmod", "replace"])
def test_who_is_interrupted_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    target = tmp_path / "a.txt"
    target.write_text("before")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, where, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(target, "after")
    assert target.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


def test_permissions_stay_and_new_files_have_the_usual_ones(tmp_path: Path) -> None:
    kept, usual, made = tmp_path / "kept", tmp_path / "usual", tmp_path / "made"
    kept.write_text("a")
    kept.chmod(0o640)
    write_file(kept, "b")
    usual.write_text("")
    write_file(made, "b")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert stat.S_IMODE(made.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


def test_the_permissions_that_new_files_get_are_not_changed_for_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for a moment: files that other threads make then would be for everybody."""
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda mask: pytest.fail("the umask of all threads"))
            write_file(tmp_path / "made", "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o640


def test_a_link_stays_a_link_and_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("a")
    link.symlink_to(target)
    write_file(link, "b")
    assert link.is_symlink()
    assert target.read_text() == "b"
    write_file(os.devnull, "nothing")
    assert not Path(os.devnull).is_file()


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written: No such file"):
        write_file(tmp_path / "no" / "file", "")
    with pytest.raises(UserError, match="cannot be written: Is a directory"):
        write_file(tmp_path, "")
