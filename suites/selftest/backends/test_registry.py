"""Finding, opening and listing backends, and the one line that every mistake ends in."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmlcts.backends as backends_package
from dmlcts.backends import BackendUnavailable, InvalidArgument
from dmlcts.backends.contract import ContractError, describe, error_kind
from dmlcts.backends.cpu import CpuBackend
from dmlcts.backends.registry import available, open_device, parse_options, resolve
from dmlcts.specs import FeatureLevel, OperatorDesc, Region, TensorDesc, UsageError
from dmlcts.specs.datatypes import DataType

DEVICE = """
import os
from pathlib import Path

class Device:
    info = {"name": "mine", "feature_level": "3.0"}
    def create(self, operator): raise NotImplementedError
    def close(self): self.closed = True
    def __enter__(self): return self
    def __exit__(self, *_): self.close()

class Mine:
    name = "mine"
    def open(self, *, speed="1"):
        device = Device()
        device.speed = int(speed)
        return device
"""

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(text: str) -> str:
        (tmp_path / "mine.py").write_text(text, encoding="utf-8")
        return str(tmp_path / "mine.py")

    return put


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts a distribution with entry points, and perhaps a module, on the path."""

    def put(distribution: str, entries: dict[str, str], **modules: str) -> None:
        folder = tmp_path / distribution
        metadata = folder / f"{distribution}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        lines = "".join(f"{name} = {value}\n" for name, value in entries.items())
        (metadata / "entry_points.txt").write_text(f"[dmlcts.backends]\n{lines}")
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.syspath_prepend(str(folder))

    return put


def _refused(spec: str) -> str:
    with pytest.raises(UsageError) as caught:
        resolve(spec)
    message = str(caught.value)
    assert "\n" not in message
    assert "Traceback" not in message
    assert caught.value.mend
    return message


# The three forms.


def test_a_registered_name(register: Callable[..., None]) -> None:
    register("house", {"ourcpu": "dmlcts.backends.cpu:CpuBackend"})
    name, backend = resolve("ourcpu")
    assert name == "ourcpu"
    assert isinstance(backend, CpuBackend)


def test_a_module_and_attribute() -> None:
    name, backend = resolve("dmlcts.backends.cpu:CpuBackend")
    assert name == "cpu"
    assert isinstance(backend, CpuBackend)


def test_a_file_and_a_class(write: Write) -> None:
    before = list(sys.path)
    path = write(DEVICE)
    name, backend = resolve(f"{path}:Mine")
    assert name == "mine"
    with open_device(backend, {"speed": "3"}) as device:
        assert describe(device.info).feature_level is FeatureLevel("3.0")
        assert vars(device)["speed"] == 3
    assert sys.path == before
    assert not list(Path(path).parent.glob("__pycache__"))


def test_a_file_and_an_instance_without_a_name(write: Write) -> None:
    path = write(f"{DEVICE}\nclass Odd:\n    def open(self): return Device()\n\nodd = Odd()\n")
    name, backend = resolve(f"{path}:odd")
    assert name == "odd"
    open_device(backend, {}).close()


def test_a_file_is_read_anew_and_may_import_its_neighbours(write: Write, tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_mine.py").write_text("NAME = 'first'\n", encoding="utf-8")
    text = f"import neighbour_of_mine\n{DEVICE}\nMine.name = neighbour_of_mine.NAME\n"
    assert resolve(f"{write(text)}:Mine")[0] == "first"
    # The same length within the same second, which a bytecode cache would not notice.
    edited = text.replace("neighbour_of_mine.NAME", repr("another.........MINE"))
    assert len(edited) == len(text)
    assert resolve(f"{write(edited)}:Mine")[0] == "another.........MINE"
    del sys.modules["neighbour_of_mine"]


def test_a_relative_path(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(DEVICE)
    monkeypatch.chdir(tmp_path)
    assert resolve("mine.py:Mine")[0] == "mine"
    assert resolve("./mine.py:Mine")[0] == "mine"


def test_the_colon_of_a_drive_letter_stays_with_the_path() -> None:
    message = _refused("C:\\backends\\mine.py:Mine")
    assert "the file 'C:\\\\backends\\\\mine.py' does not exist" in message
    assert "names no attribute" in _refused("C:\\backends\\mine.py")


def test_the_example_of_the_readme_runs(write: Write) -> None:
    page = Path(str(backends_package.__file__)).with_name("README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert example is not None
    name, backend = resolve(f"{write(example[1])}:Backend")
    assert name == "rint"
    tensor = TensorDesc(DataType.FLOAT32, (2, 2), (1, 2))
    tensors = {"InputTensor": tensor, "OutputTensor": TensorDesc(DataType.FLOAT32, (2, 2))}
    memory = np.zeros(32, np.uint8)
    memory[:16].view(np.float32)[:] = [0.5, 1.5, 2.5, -3.7]
    with open_device(backend, {}) as device:
        assert describe(device.info).name == "rint"
        kernel = device.create(OperatorDesc("ELEMENT_WISE_ROUND", tensors, {"RoundingMode": "HALVES_TO_NEAREST_EVEN"}))
        kernel.dispatch(memory, {"InputTensor": Region(0, 16), "OutputTensor": Region(16, 16)})
        assert memory[16:].view(np.float32).tolist() == [0.0, 2.0, 2.0, -4.0]
        with pytest.raises(Exception, match="only rounds") as caught:
            device.create(OperatorDesc("ELEMENT_WISE_ROUND", tensors, {"RoundingMode": "TOWARD_ZERO"}))
        assert error_kind(caught.value) == "invalid_argument"
        assert not isinstance(caught.value, InvalidArgument)


# What resolve refuses.


def test_an_unknown_name_lists_what_exists(register: Callable[..., None]) -> None:
    register("house", {"quickgpu": "dmlcts.backends.cpu:CpuBackend"})
    message = _refused("quikgpu")
    assert "no backend is called 'quikgpu' (did you mean 'quickgpu'?)" in message
    assert "choose one of " in message


def test_a_name_that_two_distributions_offer(register: Callable[..., None]) -> None:
    register("house", {"ourcpu": "dmlcts.backends.cpu:CpuBackend"})
    assert resolve("ourcpu")[0] == "ourcpu"
    register("cellar", {"ourcpu": "cellar_backend:Backend"})
    message = _refused("ourcpu")
    assert "house (dmlcts.backends.cpu:CpuBackend)" in message
    assert "cellar (cellar_backend:Backend)" in message


def test_a_registered_package_that_cannot_be_imported(register: Callable[..., None]) -> None:
    entries = {"absent": "house_absent:Backend", "broken": "house_broken:Backend"}
    register("house", entries, house_broken="1 / 0")
    with pytest.raises(BackendUnavailable, match="No module named 'house_absent'"):
        resolve("absent")
    with pytest.raises(BackendUnavailable, match=r"ZeroDivisionError: division by zero; .*mend house"):
        resolve("broken")


def test_a_missing_file(write: Write, tmp_path: Path) -> None:
    write(DEVICE)
    assert "does not exist (did you mean 'mine.py'?)" in _refused(f"{tmp_path / 'mime.py'}:Mine")
    assert "is a folder" in _refused(f"{tmp_path}:Mine")
    assert "does not exist" in _refused(f"{tmp_path / 'no' / 'such.py'}:Mine")


def test_a_path_without_attribute(write: Write) -> None:
    path = write(DEVICE)
    assert f"write {path}:NameOfTheBackend" in _refused(path)
    assert "names no attribute" in _refused(f"{path}:")
    assert "names no attribute" in _refused(f"{path}:a b")


@pytest.mark.parametrize(
    "text, words",
    [
        ("x = 1\n\n1 / 0\n", "raises ZeroDivisionError: division by zero ({path}:3)"),
        ("import json\n\njson.loads('{')\n", "raises JSONDecodeError: "),
        ("import json\n\njson.loads('{')\n", "({path}:3)"),
        ("def f(:\n", "raises SyntaxError: "),
        ("def f(:\n", "({path}:1)"),
        ("import no_such_module_here\n", "raises ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("raise SystemExit('bye')\n", "raises SystemExit: bye ({path}:1)"),
        ("raise ValueError('two\\nlines')\n", "raises ValueError: two lines ({path}:1)"),
    ],
)
def test_a_file_that_raises_on_import(write: Write, text: str, words: str) -> None:
    path = write(text)
    modules = set(sys.modules)
    assert words.format(path=path) in _refused(f"{path}:Mine")
    assert not {name for name in set(sys.modules) - modules if name.startswith("_dmlcts_backend")}
    write(DEVICE)
    assert resolve(f"{path}:Mine")[0] == "mine"


def test_a_missing_attribute_lists_what_may_be_meant(write: Write) -> None:
    message = _refused(f"{write(DEVICE)}:Mime")
    # Neither the module os nor the class Path, both of which have an open of their own.
    assert message.endswith("has no attribute 'Mime' (did you mean 'Mine'?); it offers Mine")
    assert "it has nothing with a method open()" in _refused(f"{write('x = 1')}:Mine")


def test_a_missing_module_and_one_that_raises(register: Callable[..., None]) -> None:
    assert "there is no module 'no_such_package'" in _refused("no_such_package.part:Backend")
    assert "there is no module 'dmlcts.backends.no_such'" in _refused("dmlcts.backends.no_such:Backend")
    register("house", {}, house_needy="import no_such_module_here", house_broken="x = 1\n1 / 0\n")
    message = _refused("house_needy:Backend")
    assert "raises ModuleNotFoundError: No module named 'no_such_module_here'" in message
    message = _refused("house_broken:Backend")
    assert re.search(r"raises ZeroDivisionError: division by zero \(.*house_broken\.py:2\)", message)
    assert "neither a module nor a file" in _refused("not a module:Backend")


@pytest.mark.parametrize(
    "text, words",
    [
        ("class Mine: pass", "is the class Mine and has no method open()"),
        ("Mine = 3", "is of type int and has no method open()"),
        ("def Mine(): pass", "is of type function and has no method open()"),
        (
            "class Mine:\n    def __init__(self, size, *rest, speed=1): pass\n    def open(self): pass",
            "is the class Mine, whose constructor needs size; name an instance instead",
        ),
        (
            "class Mine:\n    def __init__(self): raise ValueError('no luck')\n    def open(self): pass",
            "raises ValueError: no luck ({path}:2)",
        ),
    ],
)
def test_an_attribute_that_is_no_backend(write: Write, text: str, words: str) -> None:
    path = write(text)
    assert words.format(path=path) in _refused(f"{path}:Mine")


def test_a_constructor_that_states_unavailable(write: Write) -> None:
    text = (
        "class BackendUnavailable(Exception): mend = 'buy one'\n"
        "class Mine:\n"
        "    def __init__(self): raise BackendUnavailable('no adapter')\n"
        "    def open(self): pass\n"
    )
    with pytest.raises(BackendUnavailable, match=r"^no adapter; buy one$"):
        resolve(f"{write(text)}:Mine")


# Options and opening.


def test_options_are_read() -> None:
    assert parse_options([]) == {}
    assert parse_options(["a=1", "b=", "_c=x=y", "d= z "]) == {"a": "1", "b": "", "_c": "x=y", "d": " z "}


@pytest.mark.parametrize(
    "written, words",
    [
        (["a"], "the option 'a' has no '='; write -o key=value"),
        (["a=1", "a=1"], "the option 'a' is given twice"),
        (["=1"], "has the key '', which is no name"),
        (["a-b=1"], "has the key 'a-b', which is no name"),
        (["class=1"], "has the key 'class', which is no name"),
    ],
)
def test_options_that_cannot_be_read(written: list[str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_options(written)
    assert words in str(caught.value)


class _Opens:
    """Calls ``what`` when opened."""

    name = "opens"

    def __init__(self, what: Callable[[], Any]) -> None:
        self.what = what

    def open(self, *, device: str = "0", **_: str) -> Any:
        return self.what()


def _raises(error: Exception) -> Callable[[], Any]:
    def what() -> Any:
        raise error

    return what


def test_an_unknown_option_names_those_that_exist() -> None:
    with pytest.raises(UsageError) as caught:
        open_device(CpuBackend(), {"feature_levle": "3.0"})
    assert str(caught.value) == (
        "'cpu' has no option 'feature_levle' (did you mean 'feature_level'?); it takes feature_level"
    )
    with open_device(CpuBackend(), {"feature_level": "3.0"}) as device:
        assert device.info.feature_level is FeatureLevel("3.0")


def test_a_missing_option_is_named(write: Write) -> None:
    text = DEVICE.replace('speed="1"', "speed")
    _, backend = resolve(f"{write(text)}:Mine")
    with pytest.raises(UsageError, match=r"'mine' needs the option 'speed'; add -o speed=\.\.\."):
        open_device(backend, {})
    open_device(backend, {"speed": "1"}).close()


def test_a_value_that_open_cannot_use(write: Write) -> None:
    _, backend = resolve(f"{write(DEVICE)}:Mine")
    with pytest.raises(UsageError, match=r"opening 'mine' failed: ValueError: invalid literal.*'fast'"):
        open_device(backend, {"speed": "fast"})
    with pytest.raises(UsageError, match="no feature level '9'"):
        open_device(CpuBackend(), {"feature_level": "9"})


def test_open_that_raises() -> None:
    ours = BackendUnavailable("no adapter", "buy one")
    with pytest.raises(BackendUnavailable) as caught:
        open_device(_Opens(_raises(ours)), {})
    assert caught.value is ours
    theirs = type("BackendUnavailable", (Exception,), {})("no\nadapter")
    with pytest.raises(BackendUnavailable, match=r"^no adapter$"):
        open_device(_Opens(_raises(theirs)), {"any": "1"})
    with pytest.raises(UsageError, match="opening 'opens' failed: TypeError: inside"):
        open_device(_Opens(_raises(TypeError("inside"))), {})


def test_open_that_returns_no_device() -> None:
    with pytest.raises(ContractError, match="type NoneType without create, close, __enter__, __exit__, info"):
        open_device(_Opens(lambda: None), {})


# The list.


def test_the_list_states_what_works_and_why_the_rest_does_not(register: Callable[..., None]) -> None:
    modules = {
        "house_sound": DEVICE,
        "house_away": (
            "class BackendUnavailable(Exception): mend = 'buy one'\n"
            "class Away:\n    def open(self): raise BackendUnavailable('no adapter')\n"
        ),
        "house_odd": DEVICE.replace('"feature_level": "3.0"', '"feature_level": "9.9"'),
    }
    entries = {
        "h-sound": "house_sound:Mine",
        "h-away": "house_away:Away",
        "h-odd": "house_odd:Mine",
        "h-absent": "house_absent:Mine",
        "h-twice": "house_sound:Mine",
    }
    register("house", entries, **modules)
    register("cellar", {"h-twice": "cellar:Mine"})
    listed = {listing.name: listing for listing in available()}
    assert list(listed) == sorted(listed)

    sound = listed["h-sound"]
    assert (sound.available, sound.reason, sound.mend, sound.origin) == (True, "", "", "house")
    assert sound.info is not None
    assert sound.info.feature_level is FeatureLevel("3.0")

    away = listed["h-away"]
    assert (away.available, away.reason, away.mend, away.info) == (False, "no adapter", "buy one", None)
    assert "9.9" in listed["h-odd"].reason
    assert "No module named 'house_absent'" in listed["h-absent"].reason
    assert "house" in listed["h-twice"].reason
    assert "cellar" in listed["h-twice"].reason
    assert set(listed["h-twice"].origin.split(", ")) == {"house", "cellar"}
    assert not any(listed[name].available for name in entries if name != "h-sound")
