"""A file appears complete or not at all; what is not a regular file stays what it is."""

import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

import skstretch
from skstretch.io import archive as atomic
from skstretch.io import archive as npy
from tests.io.samples import NEW, REGRESSORS, fitted

MODEL, _ = fitted(REGRESSORS["tall"])
UNIX = pytest.mark.skipif(sys.platform == "win32", reason="needs the permissions and links of Unix")


def interrupted(*args, **options):
    raise KeyboardInterrupt


def full(*args, **options):
    raise OSError("no space left on device")


FAILURES = {
    "while writing": (npy.npy_format, "write_array", full, OSError),
    "interrupted": (npy.npy_format, "write_array", interrupted, KeyboardInterrupt),
    "while syncing": (atomic.os, "fsync", full, OSError),
    "while renaming": (atomic.os, "replace", full, OSError),
}


@pytest.mark.parametrize("older", [b"older", None])
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_failure_leaves_nothing(failure, older, tmp_path, monkeypatch):
    module, name, raising, error = failure
    path = tmp_path / "model.stretchy"
    if older is not None:
        path.write_bytes(older)
    monkeypatch.setattr(module, name, raising)
    with pytest.raises(error):
        skstretch.save(MODEL, path)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == (["model.stretchy"] if older else [])
    assert older is None or path.read_bytes() == older


def test_readers_never_see_half_a_file(tmp_path):
    path, faults, done = tmp_path / "model.stretchy", [], threading.Event()
    skstretch.save(MODEL, path)

    def read():
        while not done.is_set():
            try:
                skstretch.load(path)
            except ValueError as error:
                faults.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20):
        skstretch.save(MODEL, path)
    done.set()
    reader.join()
    assert not faults
    assert [p.name for p in tmp_path.iterdir()] == ["model.stretchy"]


@UNIX
def test_permissions(tmp_path):
    path = tmp_path / "model.stretchy"
    before = os.umask(0o027)
    try:
        skstretch.save(MODEL, path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    skstretch.save(MODEL, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@UNIX
def test_links_keep_pointing(tmp_path):
    (tmp_path / "there").mkdir()
    link, path = tmp_path / "link.stretchy", tmp_path / "there" / "model.stretchy"
    link.symlink_to(path)
    skstretch.save(MODEL, link)
    assert link.is_symlink()
    assert (skstretch.load(path).predict(NEW) == MODEL.predict(NEW)).all()


def test_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        skstretch.save(MODEL, tmp_path / "missing" / "model.stretchy")


def test_equal_models_give_equal_files(tmp_path):
    first, second = tmp_path / "first.stretchy", tmp_path / "second.stretchy"
    skstretch.save(MODEL, first)
    skstretch.save(fitted(REGRESSORS["tall"])[0], str(second))
    assert first.read_bytes() == second.read_bytes()


@UNIX
def test_a_full_disk_leaves_nothing(tmp_path):
    """A limit on the size of files: unlike a patched function, it also fails at closing."""
    resource = pytest.importorskip("resource", reason="needs limits of Unix")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for _ in range(3):
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
        try:
            with pytest.raises(OSError, match="too large"):
                skstretch.save(MODEL, tmp_path / "model.stretchy")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


STOPPED = """
import sys, time
from skstretch.io.archive import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


@UNIX
@pytest.mark.parametrize("number", [*atomic.ENDINGS, signal.SIGINT])
@pytest.mark.parametrize("older", [b"older", None])
def test_a_signal_leaves_nothing(number, older, tmp_path):
    path = tmp_path / "model.stretchy"
    if older is not None:
        path.write_bytes(older)
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout.readline() == b"writing\n"
        assert len(list(tmp_path.iterdir())) == 1 + (older is not None)
        process.send_signal(number)
        process.wait(timeout=60)
    assert process.returncode == -number, "it ends as it would have without a file open"
    assert [p.name for p in tmp_path.iterdir()] == (["model.stretchy"] if older else [])
    assert older is None or path.read_bytes() == older


@UNIX
def test_handlers_of_the_program_are_left_alone(tmp_path):
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with atomic.replacing(tmp_path / "file") as file:
            assert signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL
            os.kill(os.getpid(), signal.SIGTERM)
            file.write(b"whole")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_files_are_written_in_other_threads_too(tmp_path):
    writer = threading.Thread(target=skstretch.save, args=(MODEL, tmp_path / "m.stretchy"))
    writer.start()
    writer.join()
    assert (skstretch.load(tmp_path / "m.stretchy").predict(NEW) == MODEL.predict(NEW)).all()


@UNIX
@pytest.mark.parametrize("linked", [False, True])
def test_pipes_are_written_through(linked, tmp_path):
    skstretch.save(MODEL, tmp_path / "plain.stretchy")
    pipe, name = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    name.symlink_to(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    skstretch.save(MODEL, name if linked else pipe)
    reader.join(timeout=60)
    assert received == [(tmp_path / "plain.stretchy").read_bytes()]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert not list(tmp_path.glob(".*"))


def device(folder, minor):
    """A device of one's own: a fault in what is tested must not cost the machine its /dev/null."""
    path = folder / "device"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        os.close(os.open(path, os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"a device cannot be made here ({error}); root on a plain Linux lifts this")
    return path


@UNIX
def test_devices_are_written_through(tmp_path):
    null = device(tmp_path, 3)
    skstretch.save(MODEL, null)
    assert stat.S_ISCHR(null.stat().st_mode)
    assert list(tmp_path.iterdir()) == [null]


@UNIX
def test_a_full_device_is_an_error(tmp_path):
    full_device = device(tmp_path, 7)
    with pytest.raises(OSError, match="No space left"):
        skstretch.save(MODEL, full_device)
    assert stat.S_ISCHR(full_device.stat().st_mode)


THROUGH = """
import sys
from skstretch.io.archive import replacing
print("before", flush=True)
for word in (b"one ", b"two\\n"):
    with replacing(sys.argv[1]) as file:
        file.write(word)
print("after")
"""


@UNIX
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
@pytest.mark.parametrize("regular", [False, True])
def test_standard_output_is_written_where_it_stands(name, regular, tmp_path):
    """A file that stdout is sent to keeps what else is written there."""
    with open(tmp_path / "out", "wb") as file:
        out = file if regular else subprocess.PIPE
        done = subprocess.run([sys.executable, "-c", THROUGH, name], stdout=out, check=True)
    written = (tmp_path / "out").read_bytes() if regular else done.stdout
    assert written == b"before\none two\nafter\n"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@UNIX
def test_an_error_writes_nothing_through(tmp_path):
    code = THROUGH.replace("file.write(word)", "file.write(word); raise SystemExit(3)")
    done = subprocess.run([sys.executable, "-c", code, "/dev/stdout"], stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (3, b"before\n")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "nowhere" / "model.stretchy"
    expected = pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere.* create it")
    with expected, atomic.replacing(path):
        pass


@pytest.mark.parametrize("older", [b"older", None])
def test_a_file_that_another_program_has_open(older, tmp_path, monkeypatch):
    """As Windows has it: the error names the file, not the temporary, and both are as they were."""
    path = tmp_path / "model.stretchy"
    if older is not None:
        path.write_bytes(older)
        path.chmod(0o444)

    def in_use(source, target):
        raise PermissionError(13, "Access is denied", str(source), 5, str(target))

    monkeypatch.setattr(atomic.os, "replace", in_use)
    with pytest.raises(PermissionError, match="another program may have it open") as error:
        skstretch.save(MODEL, path)
    assert error.value.filename == str(path.resolve())
    assert [entry.name for entry in tmp_path.iterdir()] == ([path.name] if older else [])


def test_without_what_windows_lacks(tmp_path, monkeypatch):
    """No SIGHUP, no user numbers, and folders that cannot be opened."""
    real = os.open

    def no_folders(name, flags, *mode, **options):
        if os.path.isdir(name):
            raise PermissionError(13, "Permission denied", str(name))
        return real(name, flags, *mode, **options)

    monkeypatch.setattr(atomic, "ENDINGS", (signal.SIGTERM,))
    monkeypatch.setattr(atomic.os, "open", no_folders)
    monkeypatch.delattr(atomic.os, "geteuid", raising=False)
    skstretch.save(MODEL, tmp_path / "model.stretchy")
    assert (skstretch.load(tmp_path / "model.stretchy").predict(NEW) == MODEL.predict(NEW)).all()
