"""Files that are written for users: whole or as they were before, and never through a link."""

from __future__ import annotations

import os
import stat
import threading

import pytest
from command_line import replnet

from replnet.text.errors import FieldError
from replnet.text.files import output_file, replacing, write_file


def test_a_file_is_new_or_takes_the_place_of_another(tmp_path):
    path = tmp_path / "file"
    for content in ("one\r\n", b"two"):
        write_file(path, content)
        assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("exists", [True, False])
def test_nothing_is_written_through_a_link(exists, tmp_path):
    victim, link = tmp_path / "victim", tmp_path / "link"
    if exists:
        victim.write_text("mine")
    link.symlink_to(victim)
    with pytest.raises(FieldError, match=r"link: is a link, which could lead anywhere \(another name, or remove the"):
        write_file(link, "theirs")
    assert link.is_symlink()
    assert victim.exists() == exists
    assert not exists or victim.read_text() == "mine"


def test_a_second_name_of_a_file_keeps_what_it_had(tmp_path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "file").hardlink_to(tmp_path / "victim")
    write_file(tmp_path / "file", "theirs")
    assert (tmp_path / "victim").read_text() == "mine"


def test_what_is_interrupted_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def write():
        with output_file(path) as file:
            file.write(b"ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    content: list[bytes] = []
    reader = threading.Thread(target=lambda: content.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()
    write_file(tmp_path / "pipe", "words")
    reader.join()
    assert content == [b"words"]


def test_where_nothing_can_be_written_is_said(tmp_path):
    (tmp_path / "plain").touch()
    for path, why in (
        (tmp_path / "none" / "file", "No such file or directory"),
        (tmp_path / "plain" / "file", "Not a directory"),
        (tmp_path, "Is a directory"),
    ):
        with pytest.raises(FieldError, match=rf"{path}: cannot be written: {why} \(a file in a folder that exists\)"):
            write_file(path, "")
        with pytest.raises(OSError, match=why) as error, replacing(path):
            pass
        assert error.value.filename == str(path)


@pytest.mark.parametrize(
    "words", ["network single -o link.svg", "trace import times.csv -o link.csv", "trace fit times.csv -o link.svg"]
)
def test_commands_write_through_no_link(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "times.csv").write_text("time\n" + "".join(f"{i * i}\n" for i in range(40)))
    (tmp_path / "victim").write_text("mine")
    link = tmp_path / words.rpartition(" ")[2]
    link.symlink_to("victim")
    done = replnet(*words.split())
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"{link.name}: is a link")
    assert (tmp_path / "victim").read_text() == "mine"
