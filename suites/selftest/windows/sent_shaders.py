"""Which shaders Windows' DirectML sends for the element-wise operators, release by release, and what is in them.

``python -m dmlcts.suites.selftest.windows.sent_shaders [VERSION…]`` compiles every operator on every signature and
enumerator, on tensors of several sizes and layouts, with and without ScaleBias where the table has one, with and
without the flag that allows computing in FLOAT16, on each release that was fetched. No shader runs: they are looked
into.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from dmlcts.backends.contract import InvalidArgument
from dmlcts.backends.directml.abi.com import ComError
from dmlcts.backends.directml.abi.dml import DML_EXECUTION_FLAGS
from dmlcts.backends.directml.backend import DirectMLBackend, DirectMLDevice
from dmlcts.backends.directml.d3d12_software.bytecode.rewriting import rewritten
from dmlcts.backends.directml.d3d12_software.bytecode.tokens import instructions
from dmlcts.backends.directml.d3d12_software.shaders.container import older_program
from dmlcts.backends.directml.d3d12_software.shaders.errors import UnsupportedShader
from dmlcts.backends.directml.descriptions import Description
from dmlcts.backends.directml.loading import windows_releases
from dmlcts.specs import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.cache import cache_folder
from dmlcts.suites.selftest.family.family_tables import descriptions_of, family

DOUBLE = frozenset(["dadd", "dmax", "dmin", "dmul", "deq", "dge", "dlt", "dne", "dmov", "dmovc", "dtof", "ftod"])
# Sizes, and strides of inputs and of outputs: packed, in fours and not, broadcast, padded, permuted, of other ranks.
_SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...] | None, tuple[int, ...] | None], ...] = (
    ((1, 1, 1, 1), None, None),
    ((1, 1, 1, 8), None, None),
    ((1, 1, 1, 7), None, None),
    ((1, 1, 1024, 1024), None, None),
    ((1, 1, 2, 4), (0, 0, 0, 1), None),
    ((1, 1, 2, 3), (0, 0, 0, 0), None),
    ((1, 2, 3, 4), (32, 16, 5, 1), (36, 18, 6, 1)),
    ((2, 3, 2, 5), (1, 2, 6, 12), (30, 1, 3, 6)),
    ((2, 1, 3, 2, 3), None, None),
    ((2, 1, 2, 1, 3, 1, 2, 2), None, None),
)


def features(part: bytes) -> frozenset[str]:
    """What of shader model 5 a shader has that is not supported, or not by every reader: by name.

    Args:
        part: the content of its SHEX part.
    """
    feature_names: set[str] = set()
    try:
        for instruction in instructions(part):
            if "atomic" in instruction.name:
                feature_names.add(f"an atomic ({instruction.name})")
            elif instruction.name in DOUBLE:
                feature_names.add(f"double precision ({instruction.name})")
            elif instruction.name == "dcl_indexable_temp":
                feature_names.add("indexable registers (x#)")
    except UnsupportedShader as error:
        return frozenset({*feature_names, error.feature})
    try:
        rewritten(part)
    except UnsupportedShader as error:
        feature_names = feature_names or {error.feature}
    return frozenset(feature_names)


@dataclass
class Sent:
    """What one release sent.

    Attributes:
        compiled: how many descriptions it compiled.
        refused: how many it refused.
        operators: the operators of which it compiled at least one.
        dxil: the shaders in DXIL.
        older: the parts with shader model 5.
        without: how often it asked for a pipeline and gave no shader.
    """

    compiled: int = 0
    refused: int = 0
    operators: set[str] = field(default_factory=set)
    dxil: set[bytes] = field(default_factory=set)
    older: set[bytes] = field(default_factory=set)
    without: int = 0

    def compile(self, container: bytes) -> None:
        """Stands for the adapter's compiler: keeps what it is given.

        Raises:
            BadContainer: it is none; nothing at all is counted besides.
        """
        self.without += not container
        part = older_program(container)
        if part is None:
            self.dxil.add(container)
        else:
            self.older.add(part)


def asked() -> Iterator[OperatorDesc]:
    """Every description that is compiled."""
    for table in family().operators.values():
        for _, operator in descriptions_of(table):
            scaled = [ScaleBias(2.0, 1.0)] if table.has_scale_bias else []
            for sizes, strides, out in _SHAPES:
                tensors = {
                    name: TensorDesc(tensor.data_type, sizes, out if table.tensors[name].kind == "output" else strides)
                    for name, tensor in operator.tensors.items()
                }
                laid = OperatorDesc(operator.name, tensors, operator.attributes)
                yield laid
                for scale in scaled:
                    yield replace(laid, attributes={**laid.attributes, "ScaleBias": scale})


def sent_by(device: DirectMLDevice, wanted: Iterable[OperatorDesc]) -> Sent:
    """What a device's library sends for these."""
    sent = Sent()
    device.host._device._compiler = sent  # type: ignore[attr-defined]
    for operator in wanted:
        before = sent.without
        try:
            description = Description(operator)
            with device.session.create(description.desc) as made:
                for flags in (0, DML_EXECUTION_FLAGS.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION):
                    device.session.compile(made, int(flags)).release()
        except (ComError, InvalidArgument):
            sent.refused += 1
        else:
            sent.compiled += 1
            sent.operators.add(operator.name)
        fault = device.host.faults.take()
        if fault is not None and sent.without == before:
            raise fault
    return sent


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", help="releases that were fetched; all of them where none is named")
    options = parser.parse_args(arguments)
    there = [release.version for release in windows_releases.RELEASES if release.library(cache_folder()).is_file()]
    print_line = sys.stdout.write
    print_line(
        "| release | operators | compiled | refused | in DXIL | in shader model 5 | unsupported | without a shader |\n"
    )
    print_line("|---|---|---|---|---|---|---|---|\n")
    for version in options.versions or there:
        with DirectMLBackend().open(library=version) as device:
            sent = sent_by(device, asked())
        feature_counts = Counter(name for part in sent.older for name in features(part))
        text = ", ".join(f"{count}: {name}" for name, count in sorted(feature_counts.items())) or "none"
        counts = (len(sent.operators), sent.compiled, sent.refused, len(sent.dxil), len(sent.older))
        cells = (version, *counts, text, sent.without)
        print_line(f"| {' | '.join(map(str, cells))} |\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
