"""The table of activations: what lint refuses of it, and that the backends' own lists say the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dmlcts.backends.cpu import CpuBackend
from dmlcts.backends.directml.elementwise import ACTIVATIONS
from dmlcts.specs import DataType, TableError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.loading.load import tables_of_files
from dmlcts.specs.reading.table_files import TableFile, builtin_files
from dmlcts.suites.selftest.activations.fused import TABLES, add_with

NAME = "activations.yaml"


def with_changed(name: str, old: str, new: str) -> list[TableFile]:
    """The built-in tables with a change in one of them."""
    result = []
    for file in builtin_files():
        if file.digest_name.endswith(f"/{name}"):
            text = file.data.decode()
            assert text.count(old) == 1, old
            result.append(replace(file, data=text.replace(old, new).encode()))
        else:
            result.append(file)
    return result


TRIED = "tried: [{Steepness: 1}, {Steepness: 2.5}]"
WHEN = "when: {FusedActivation: ACTIVATION_"
RELU = "operator: ACTIVATION_RELU\n"
LEAKY = "operator: ACTIVATION_LEAKY_RELU\n"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "old", "new", "text"),
    [
        (NAME, "code: 44\n", "code: 39\n", "code '39' stands twice"),
        (NAME, RELU, LEAKY, "activation 'ACTIVATION_LEAKY_RELU' stands twice"),
        (NAME, "formula: max(0, x)\n", "formula: max(0, y)\n", "undefined name 'y' in the formula"),
        (NAME, "formula: max(0, x)\n", "formula: x > 0\n", "fused to ADD1, greater is given an approximate value"),
        (NAME, "formula: x if x > Alpha else 0\n", "formula: abs(x)\n", "abs is given an approximate value"),
        (NAME, "formula: Steepness * x / Steepness", "formula: floor(abs(x))", "abs is given an approximate value"),
        (NAME, "numbers: [Bias, Threshold]", "numbers: [Bias, Bias]", "number 'Bias' stands twice"),
        (NAME, "numbers: [Bias, Threshold]", "numbers: [a, Threshold]", "ADD1 has a 'a' of its own"),
        (NAME, TRIED, "tried: [{Steepness: 1}, {}]", "the set gives no Steepness"),
        (NAME, TRIED, "tried: [{Steepness: 1, Beta: 1}]", "SOFTPLUS has no number 'Beta'"),
        (NAME, f"    {TRIED}\n", "", "no numbers of SOFTPLUS are tried"),
        ("add1.yaml", f"{WHEN}RELU}}", f"{WHEN}RELUX}}", "no table has the activation ACTIVATION_RELUX"),
        ("add1.yaml", f"    {WHEN}GELU}}\n", "", "does not say which activation it is about"),
        ("add1.yaml", f"{WHEN}GELU}}", f"{WHEN}RELU}}", "no clause of ADD1 speaks of GELU"),
    ],
)
def test_what_lint_refuses(name: str, old: str, new: str, text: str) -> None:
    with pytest.raises(TableError) as error:
        tables_of_files(with_changed(name, old, new))
    assert any(text in str(fault) for fault in error.value.faults), [str(fault) for fault in error.value.faults]


def test_every_activation_of_the_page_is_there() -> None:
    assert [activation.short_name for activation in TABLES.activations.values()] == [
        "LINEAR",
        "HARD_SIGMOID",
        "RELU",
        "LEAKY_RELU",
        "THRESHOLDED_RELU",
        "IDENTITY",
        "SHRINK",
        "SIGMOID",
        "TANH",
        "SCALED_TANH",
        "ELU",
        "CELU",
        "SCALED_ELU",
        "SOFTPLUS",
        "PARAMETRIC_SOFTPLUS",
        "SOFTSIGN",
        "GELU",
    ]


def test_the_directml_backend_knows_the_same_numbers_and_members() -> None:
    assert {name: (activation.code, activation.numbers) for name, activation in TABLES.activations.items()} == {
        name: (layout.code, tuple(member for member, kind in layout.members.items() if kind == "float"))
        for name, layout in ACTIVATIONS.items()
    }


@pytest.mark.parametrize("name", TABLES.activations)
def test_the_cpu_backend_has_every_activation(name: str) -> None:
    known = load_tables().activations[name]
    with CpuBackend().open() as device:
        device.create(add_with(DataType.FLOAT32, known.short_name, **known.number_sets[0])).close()


def test_the_table_is_among_the_digests() -> None:
    assert "shared/activations.yaml" in TABLES.digests
