"""Child processes: frames, exit reports, environment."""

from __future__ import annotations

import io
import signal
import socket
import subprocess
from typing import TYPE_CHECKING

import msgspec
import pytest

from gossamer.processes.exit_report import describe_exit, last_line, last_log_line, last_stderr_line, wait_or_kill
from gossamer.processes.framing import (
    EMPTY_FRAME,
    HEADER_BYTES,
    FrameTooLong,
    append_frame,
    encode_frame,
    read_frame,
    receive_frame,
    send_frame,
    take_frames,
)  # fmt: skip
from gossamer.processes.start import SECRET_VARIABLES, environment_without_secrets, start_python

if TYPE_CHECKING:
    from pathlib import Path


def test_frames_are_taken_from_a_buffer_when_they_are_complete() -> None:
    buffer, received = bytearray(), []
    for octet in encode_frame(b"one") + EMPTY_FRAME + encode_frame(b"two")[:-1]:
        buffer.append(octet)
        received += [bytes(message) for message in take_frames(buffer, 10)]
    assert received == [b"one", b""]
    assert buffer == encode_frame(b"two")[:-1]


def test_frames_are_encoded_at_the_end_of_a_buffer() -> None:
    buffer = bytearray(encode_frame(b"one"))
    append_frame(buffer, "two", msgspec.msgpack.Encoder().encode_into)
    assert buffer == encode_frame(b"one") + encode_frame(msgspec.msgpack.encode("two"))


def test_a_reader_that_stops_early_can_change_the_buffer() -> None:
    buffer = bytearray()
    append_frame(buffer, "one", msgspec.msgpack.Encoder().encode_into)
    for _ in take_frames(buffer, 10):
        break
    buffer.clear()


def test_a_frame_that_is_too_long_is_refused_by_its_header() -> None:
    with pytest.raises(FrameTooLong):
        list(take_frames(bytearray((11).to_bytes(HEADER_BYTES, "big")), 10))


def test_a_frame_goes_over_a_socket() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            send_frame(ours, bytearray(EMPTY_FRAME + b"message"))
            assert receive_frame(theirs) == b"message"
            ours.sendall(encode_frame(b"cut off")[:-1])
        assert receive_frame(theirs) is None


@pytest.mark.parametrize("size", range(len(encode_frame(b"message"))))
def test_a_truncated_frame_is_read_as_none(size: int) -> None:
    frame = encode_frame(b"message")
    assert read_frame(io.BytesIO(frame)) == b"message"
    assert read_frame(io.BytesIO(frame[:size])) is None


def test_an_exit_is_described_by_code_or_signal() -> None:
    assert describe_exit(3) == "ended with code 3"
    assert describe_exit(-signal.SIGSEGV) == "was ended by SIGSEGV"
    assert describe_exit(-(signal.SIGRTMIN + 1)) == f"was ended by signal {signal.SIGRTMIN + 1}"


def test_the_last_log_line_comes_from_this_process(tmp_path: Path) -> None:
    log = tmp_path / "index.log"
    log.write_bytes(b"of an earlier one\n")
    assert last_log_line(log, log.stat().st_size) == ""
    log.write_bytes(b"of an earlier one\nfirst\nlast \xff\n\n")
    assert last_log_line(log, 18) == last_line(b"first\nlast \xff\n\n") == "last \ufffd"


def test_a_process_that_does_not_exit_is_killed_and_its_last_line_is_printable() -> None:
    script = (
        "import sys, time; print('first\\nthe \\x1b[31m last', file=sys.stderr, flush=True); print(); time.sleep(99)"
    )
    with start_python("-u", "-c", script, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        assert wait_or_kill(process, 0) == -signal.SIGKILL
        assert last_stderr_line(process.stderr) == "the [31m last"


def test_an_environment_without_secrets_keeps_other_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "secret")
    monkeypatch.setenv("LANG", "C")
    environment = environment_without_secrets()
    assert environment["LANG"] == "C"
    assert not SECRET_VARIABLES & environment.keys()
