"""Finding, opening and listing backends.

A backend is named by an entry point of the group ``dmlcts.backends``, by ``package.module:attribute``, by
``path/to/file.py:attribute``, or, where it is a runner in any language, by ``exec:COMMAND`` or ``tcp:HOST:PORT``.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import keyword
import os
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import cast

from dmlcts.backends.contract import (
    Backend,
    BackendUnavailable,
    ContractError,
    Device,
    DeviceInfo,
    describe,
    error_kind,
    words_of,
)
from dmlcts.backends.frames import backend_frames
from dmlcts.specs import DmlctsError, UsageError
from dmlcts.specs.spelling import likely

GROUP = "dmlcts.backends"
RUNNERS = ("exec", "tcp")
_RUNNER_MODULE = "dmlcts.backends.runners.backend"
_FORMS = "a registered name, package.module:attribute, path/to/file.py:attribute, exec:COMMAND or tcp:HOST:PORT"


@dataclass(frozen=True)
class Listing:
    """One registered backend, and whether it works here.

    Attributes:
        name: the name to give to ``--backend``.
        available: whether ``open()`` without options gave a device.
        reason: why not, in one line; empty where it is available.
        mend: what would make it available; may be empty.
        origin: the distributions that offer the name, joined by ", ".
        info: the device's description where it is available.
    """

    name: str
    available: bool
    reason: str
    mend: str
    origin: str
    info: DeviceInfo | None


def resolve(spec: str) -> tuple[str, Backend]:
    """Find the backend that ``spec`` names.

    Args:
        spec: a registered name, ``package.module:attribute``, or ``path/to/file.py:attribute``; the
            attribute is a backend class, which is called without arguments, or an instance. Or a runner:
            ``exec:COMMAND`` or ``tcp:HOST:PORT``.

    Returns:
        The name to show, and the backend: the registered name, or what the backend calls itself.

    Raises:
        UsageError: nothing usable has this name; the message says what to write instead.
        BackendUnavailable: the name is registered, but its package cannot be imported here, or the
            backend's constructor says that it cannot run.
    """
    if ":" not in spec:
        return spec, _registered(spec)
    if spec.partition(":")[0] in RUNNERS:
        # by name, as what is registered: only whoever names a runner pays for it
        return spec, cast(Backend, importlib.import_module(_RUNNER_MODULE).RunnerBackend(spec))
    # The last colon, so that the one of a Windows drive letter stays with the path.
    place, attribute = spec.rsplit(":", 1)
    if not attribute.isidentifier():
        raise UsageError(f"{spec!r} names no attribute after its last colon", f"write {_FORMS}")
    if place.endswith(".py") or "/" in place or "\\" in place:
        module = _load_file(place)
    elif all(part.isidentifier() for part in place.split(".")):
        module = _import_module(place)
    else:
        raise UsageError(f"{place!r} is neither a module nor a file ending in .py", f"write {_FORMS}")
    backend = _instance(_attribute(module, attribute, place), spec)
    name = getattr(backend, "name", None)
    return (name if isinstance(name, str) and name else attribute), backend


def available() -> tuple[Listing, ...]:
    """Every registered backend, by name, each opened once without options to see whether it works."""
    return tuple(_listing(name, offers) for name, offers in sorted(_offers().items()))


def parse_options(written: Iterable[str]) -> dict[str, str]:
    """Read the ``key=value`` of repeated ``-o``.

    Returns:
        Key to value, in the order given; a value may be empty or hold further equals signs.

    Raises:
        UsageError: no equals sign, a key that Python cannot pass by name, or a key given twice.
    """
    options: dict[str, str] = {}
    for item in written:
        key, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"the option {item!r} has no '='", "write -o key=value")
        if not key.isidentifier() or keyword.iskeyword(key):
            mend = "use letters, digits and underscores, and begin with a letter"
            raise UsageError(f"the option {item!r} has the key {key!r}, which is no name", mend)
        if key in options:
            raise UsageError(f"the option {key!r} is given twice", "give it once")
        options[key] = value
    return options


def open_device(backend: Backend, options: Mapping[str, object]) -> Device:
    """Open ``backend`` with ``options``, turning whatever goes wrong into one clear line.

    Raises:
        BackendUnavailable: it cannot run here; a third party's class of that name becomes ours.
        ContractError: what it opened is no device.
        UsageError: an option it does not know, a missing one, or any other failure to open.
    """
    name = str(getattr(backend, "name", type(backend).__name__))
    _check_options(backend, name, options)
    try:
        device = backend.open(**options)
    except (DmlctsError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too: it must not end the suite with a code that is a verdict
        if error_kind(error) == "unavailable":
            raise _unavailable(error) from error
        frames = backend_frames(error)
        cause = f"opening {name!r} failed: {_text_of(error)}{f' ({frames[-1]})' if frames else ''}"
        raise UsageError(cause, f"check the options {dict(options)}" if options else "") from error
    parts = ("create", "close", "__enter__", "__exit__", "info")
    lacking = [part for part in parts if not _has(device, part)]
    if lacking:
        cause = f"{name!r} opened an object of type {type(device).__name__} without {', '.join(lacking)}"
        raise ContractError(cause, "return a device from open(), as backends/README.md shows")
    return device


# Registered names.


def _offers() -> dict[str, list[importlib.metadata.EntryPoint]]:
    """Entry points by name; one distribution found twice on the path counts once."""
    entry_points: dict[str, dict[tuple[str, str], importlib.metadata.EntryPoint]] = {}
    for entry in importlib.metadata.entry_points(group=GROUP):
        entry_points.setdefault(entry.name, {}).setdefault((_origin(entry), entry.value), entry)
    return {name: list(offers.values()) for name, offers in entry_points.items()}


def _origin(entry: importlib.metadata.EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an unknown distribution"


def _registered(name: str) -> Backend:
    offers = _offers()
    if name in offers:
        return _load_entry(name, offers[name])
    if name.endswith(".py") or os.sep in name or "/" in name:
        raise UsageError(f"{name!r} names a file but no attribute of it", f"write {name}:NameOfTheBackend")
    if not offers:
        raise UsageError(f"no backend is called {name!r}, and none is registered", f"write {_FORMS}")
    raise UsageError(
        f"no backend is called {name!r}{_suggestion(name, offers)}",
        f"choose one of {', '.join(sorted(offers))}, or write module:attribute or path/to/file.py:attribute",
    )


def _load_entry(name: str, offers: Sequence[importlib.metadata.EntryPoint]) -> Backend:
    if len(offers) > 1:
        origins = " and ".join(f"{_origin(entry)} ({entry.value})" for entry in offers)
        mend = "uninstall all but one, or give the module and attribute instead of the name"
        raise UsageError(f"the backend name {name!r} is offered by {origins}", mend)
    (entry,) = offers
    try:
        loaded = entry.load()
    except Exception as error:
        cause = f"the backend {name!r} of {_origin(entry)} ({entry.value}) cannot be imported: {_text_of(error)}"
        raise BackendUnavailable(cause, f"install what it needs, or mend {_origin(entry)}") from error
    return _instance(loaded, name)


def _listing(name: str, offers: Sequence[importlib.metadata.EntryPoint]) -> Listing:
    origin = ", ".join(dict.fromkeys(_origin(entry) for entry in offers))
    try:
        with closing(open_device(_load_entry(name, offers), {})) as device:
            info = describe(device.info)
    except Exception as error:
        # Whatever a third party's code raises, its line belongs into the list beside the others.
        reason = str(getattr(error, "cause", "")) or _text_of(error)
        return Listing(name, False, _one_line(reason), str(getattr(error, "mend", "")), origin, None)
    return Listing(name, True, "", "", origin, info)


# Modules and files.


class _FreshLoader(SourceFileLoader):
    """Compiles the file as it is now: no cached bytecode is read, none is left beside a user's file."""

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


def _load_file(written: str) -> ModuleType:
    path = Path(written).expanduser()
    if not path.is_file():
        nearby = path.parent.glob("*.py") if path.parent.is_dir() else ()
        suggestion = _suggestion(path.name, sorted(file.name for file in nearby))
        why = "is a folder" if path.is_dir() else "does not exist"
        raise UsageError(f"the file {written!r} {why}{suggestion}", f"relative paths begin at {Path.cwd()}")
    path = path.resolve()
    # One module a path, under a name that no import statement would ask for.
    name = f"_dmlcts_backend_{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_FreshLoader(name, str(path)))
    if spec is None or spec.loader is None:
        raise UsageError(f"the file {written!r} cannot be loaded as Python", "give a file ending in .py")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickle look their module up by name. The file's neighbours can be imported while it
    # is, but last, so that they shadow nothing.
    sys.modules[name] = module
    sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UsageError(f"the file {written!r} {_raised(error, str(path))}", "mend the file") from error
    finally:
        # Not pop(): the file may have changed the path itself.
        if str(path.parent) in sys.path:
            del sys.path[len(sys.path) - 1 - sys.path[::-1].index(str(path.parent))]
    return module


def _import_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(f"{missing}."):
            mend = "install its distribution, check the spelling, or give path/to/file.py:attribute"
            raise UsageError(f"there is no module {missing!r}", mend) from error
        raise UsageError(f"the module {name!r} {_raised(error)}", "install what it needs") from error
    except (Exception, SystemExit) as error:
        raise UsageError(f"the module {name!r} {_raised(error)}", "mend the module") from error


def _attribute(module: ModuleType, attribute: str, place: str) -> object:
    if hasattr(module, attribute):
        return getattr(module, attribute)
    candidates = [name for name, value in vars(module).items() if _is_backend_like(name, value)]
    mend = f"it offers {', '.join(candidates)}" if candidates else "it has nothing with a method open()"
    raise UsageError(f"{place!r} has no attribute {attribute!r}{_suggestion(attribute, candidates)}", mend)


def _is_backend_like(name: str, value: object) -> bool:
    """Whether a module's attribute may be meant as a backend, rather than be something it imported."""
    if name.startswith("_") or isinstance(value, ModuleType) or not callable(getattr(value, "open", None)):
        return False
    origin = value if isinstance(value, type) else type(value)
    standard = origin.__module__.partition(".")[0] in sys.stdlib_module_names
    return not standard and not getattr(origin, "_is_protocol", False)


def _instance(candidate: object, spec: str) -> Backend:
    if not callable(getattr(candidate, "open", None)):
        what = (
            f"the class {candidate.__name__}" if isinstance(candidate, type) else f"of type {type(candidate).__name__}"
        )
        mend = "name a Backend class or an instance of one"
        raise UsageError(f"{spec!r} is {what} and has no method open()", mend)
    if not isinstance(candidate, type):
        return cast(Backend, candidate)
    needed = _needed_arguments(candidate)
    if needed:
        mend = f"name an instance instead, for example backend = {candidate.__name__}(...) in its module"
        cause = f"{spec!r} is the class {candidate.__name__}, whose constructor needs {', '.join(needed)}"
        raise UsageError(cause, mend)
    try:
        return cast(Backend, candidate())
    except (DmlctsError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if error_kind(error) == "unavailable":
            raise _unavailable(error) from error
        raise UsageError(f"constructing {spec!r} {_raised(error)}", "mend its constructor") from error


def _signature(target: object) -> inspect.Signature | None:
    """The signature of a callable; ``None`` for one written in C that has none."""
    try:
        return inspect.signature(target)  # type: ignore[arg-type]  # whoever asks knows that it is callable
    except ValueError:
        return None


def _needed_arguments(target: object) -> list[str]:
    signature = _signature(target)
    return [
        parameter.name
        for parameter in (signature.parameters.values() if signature else ())
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]


def _check_options(backend: Backend, name: str, options: Mapping[str, object]) -> None:
    signature = _signature(backend.open)
    if signature is None:
        return
    parameters = signature.parameters.values()
    by_name = [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        unknown = [key for key in options if key not in by_name]
        if unknown:
            mend = f"it takes {', '.join(by_name)}" if by_name else "it takes no options"
            cause = f"{name!r} has no option {unknown[0]!r}{_suggestion(unknown[0], by_name)}"
            raise UsageError(cause, mend)
    missing = [key for key in _needed_arguments(backend.open) if key not in options]
    if missing:
        mend = f"add {' '.join(f'-o {key}=...' for key in missing)}"
        raise UsageError(f"{name!r} needs the option {missing[0]!r}", mend)


def _has(device: object, part: str) -> bool:
    """Whether a device has a part; one that fails when it is looked at counts, and raises its error when it is read."""
    try:
        return hasattr(device, part)
    except KeyboardInterrupt:
        raise
    except BaseException:  # whatever a third party's property raises
        return True


# Words.


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _text_of(error: BaseException) -> str:
    """The exception's class and text, in one line."""
    text = _one_line(words_of(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _raised(error: BaseException, path: str | None = None) -> str:
    """What was raised and where: in ``path`` if the traceback passes through it, else where it ends."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"raises SyntaxError: {error.msg} ({error.filename}:{error.lineno})"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != __file__ and not frame.filename.startswith("<frozen importlib")
    ]
    inside = [frame for frame in frames if frame.filename == path] or frames
    place = f" ({inside[-1].filename}:{inside[-1].lineno})" if inside else ""
    return f"raises {_text_of(error)}{place}"


def _suggestion(written: str, known: Iterable[str]) -> str:
    meant = likely(written, known)
    return f" (did you mean {meant!r}?)" if meant else ""


def _unavailable(error: BaseException) -> BackendUnavailable:
    if isinstance(error, BackendUnavailable):
        return error
    mend = getattr(error, "mend", "")
    cause = getattr(error, "cause", None) or words_of(error) or type(error).__name__
    return BackendUnavailable(_one_line(str(cause)), _one_line(str(mend)))
