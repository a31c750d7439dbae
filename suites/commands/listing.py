"""What the command line prints about backends and tables."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dmlcts.backends.registry import available
from dmlcts.specs import DataType
from dmlcts.specs.comparing import compare, notes
from dmlcts.specs.comparing.known import known_sentences
from dmlcts.specs.models import Clause, OperatorTable
from dmlcts.specs.number_text import many
from dmlcts.specs.pages import identify, load_page
from dmlcts.specs.tables import Tables


def print_backends(console: Console, *, verbose: bool = False) -> None:
    """Every registered backend: available, with its device, or why not and the mend."""
    table = Table("backend", "available", "device, or why not and what to do")
    if verbose:
        table.add_column("installed from")
    for listing in available():
        if listing.info is not None:
            parts = [listing.info.adapter, listing.info.library, f"feature level {listing.info.feature_level}"]
            description = ", ".join(part for part in parts if part)
        else:
            description = "; ".join(part for part in (listing.reason, listing.mend) if part)
        row = [Text(listing.name), Text("yes" if listing.available else "no"), Text(description)]
        table.add_row(*row, *([Text(listing.origin)] if verbose else []))
    console.print(table)
    console.print("Others: --backend package.module:attribute or --backend path/to/file.py:attribute")
    console.print("Runners in any language: --backend exec:COMMAND or --backend tcp:HOST:PORT", highlight=False)


def print_operator(console: Console, tables: Tables, operator: OperatorTable) -> None:
    """An operator's table as a person reads it."""
    console.print(
        f"{operator.operator} (DML_OPERATOR_TYPE {operator.code}, since feature level {operator.introduced})",
        style="bold",
        markup=False,
        highlight=False,
    )
    console.print(operator.summary, markup=False, highlight=False)
    console.print(f"\nformula   {operator.formula}", markup=False, highlight=False)
    console.print(f"in place  {'permitted' if operator.in_place else 'not permitted'}", highlight=False)
    console.print(f"equal     {', '.join(operator.in_common)}\n", highlight=False)
    _print_attributes(console, tables, operator)
    support = Table("feature level", "tensor", "dimension counts", "data types", title="Support", title_justify="left")
    for table in operator.support:
        for row in operator.support_rows(table):
            low, high = row.dimension_counts
            ranks = str(low) if low == high else f"{low} to {high}"
            support.add_row(f"{table.level} and above", row.tensor, ranks, ", ".join(row.data_types))
    console.print(support)
    for clause in operator.clauses:
        console.print()
        _print_clause(console, tables, clause)
    for example in operator.examples:
        arguments = [f"{name} = {value}" for name, value in (*example.types.items(), *example.attributes.items())]
        inputs = [f"{name} = {list(values)}" for name, values in operator.example_inputs(example).items()]
        text = ", ".join([*arguments, *inputs])
        console.print(f"\nexample   {text} gives {list(example.outputs)}", markup=False, highlight=False)


def _print_attributes(console: Console, tables: Tables, operator: OperatorTable) -> None:
    """The attributes and limits of an operator, one a row."""
    heads = ("attribute or limit", "values", "what becomes of it")
    table = Table(*heads, title="Attributes and limits", title_justify="left")
    for item in operator.attributes:
        if item.type == "FLOAT":
            values, meaning = "any FLOAT", f"cast to the tensor's type: {item.cast}"
        elif item.type == "ENUM":
            values, meaning = ", ".join(item.enumerators), "one of them"
        elif item.type == "DML_SCALAR_UNION":
            values, meaning = f"a number of the type that {item.data_type} names", "as it is"
        elif item.type == "DML_TENSOR_DATA_TYPE":
            values, meaning = "a data type", f"has to be that of {item.same_as}"
        elif item.type == "DML_OPERATOR_DESC":
            known = ", ".join(activation.short_name for activation in tables.activations.values())
            values, meaning = f"an activation, or none: {known}", "fused: applied to what the operator gives"
        else:
            values, meaning = (
                "a scale and a bias, or none",
                f"{item.formula or 'x * scale + bias'}, before the operator",
            )
        table.add_row(Text(item.name), Text(values), Text(meaning))
    words = {
        "rank_min": "dimensions, at least",
        "rank_max": "dimensions, at most",
        "size_min": "a dimension's size, at least",
        "elements_max": "elements of a tensor, at most",
        "offset_alignment": "offset of a binding, a multiple of",
        "total_size_multiple": "total size in bytes, a multiple of",
    }
    for name, value in tables.limits.items():
        table.add_row(Text(words.get(name, name.replace("_", " "))), Text(f"{value:,}"), Text("of every operator"))
    console.print(table)


def _briefly(types: Sequence[DataType]) -> str:
    """Element types in few words: by kind where all of a kind are there, but FLOAT64."""
    kinds: dict[str, list[DataType]] = {
        "floating": [
            data_type for data_type in DataType if data_type.is_floating and data_type is not DataType.FLOAT64
        ],
        "signed": [data_type for data_type in DataType if data_type.is_signed and not data_type.is_floating],
        "unsigned": [data_type for data_type in DataType if not data_type.is_signed],
    }
    left, words = list(types), []
    for word, members in kinds.items():
        if set(members) <= set(left):
            words.append(word)
            left = [data_type for data_type in left if data_type not in members]
    return ", ".join([*words, *(data_type.name for data_type in left)])


def print_operators(console: Console, operators: Iterable[OperatorTable]) -> None:
    """Operators that there are tables for, one a row."""
    table = Table("operator", "groups", "since level", "element types", "attributes", "what it does")
    for operator in operators:
        attributes = ", ".join(item.name for item in operator.attributes)
        groups, types = ", ".join(operator.groups), _briefly(operator.data_types)
        cells = (operator.short_name, groups, operator.introduced, types, attributes, operator.summary)
        table.add_row(*(Text(cell) for cell in cells))
    console.print(table)
    more = "More: dmlcts spec show CLIP, dmlcts spec show rounding, dmlcts spec show clip.cast.float16"
    console.print(more, highlight=False)


def print_clauses(console: Console, tables: Tables, pattern: str) -> None:
    """The clauses that an id or a glob names, each with what it is about.

    Raises:
        UsageError: there is none.
    """
    clauses = [clause for clause in tables.clauses if fnmatch.fnmatchcase(clause.id, pattern)]
    for clause in clauses or [tables.clause(pattern)]:
        _print_clause(console, tables, clause)
        about = [operator for operator in tables.operators.values() if clause in tables.clauses_of(operator)]
        for operator in about:
            types = ", ".join(data_type.name for data_type in tables.data_types(clause, operator))
            console.print(f"  about {operator.short_name} on {types}", markup=False, highlight=False, soft_wrap=True)
        for name in clause.latitude:
            latitude = tables.latitudes.get(name)
            if latitude is not None:
                line = f"  latitude {name}: {', '.join(latitude.permitted)}"
                console.print(line, markup=False, highlight=False, soft_wrap=True)
        console.print()


def _print_clause(console: Console, tables: Tables, clause: Clause) -> None:
    """A clause with its obligation, its words, its source and what disagrees with it."""
    console.print(clause.id, style="bold", markup=False, highlight=False, end="")
    console.print(f"  {clause.obligation}", markup=False, highlight=False)
    console.print(f"  {clause.text}", markup=False, highlight=False)
    source = tables.source(clause.id)
    if clause.quotation is not None:
        console.print(f'  "{clause.quotation.words}"', markup=False, highlight=False, style="italic")
    console.print(f"  {source.cited}", markup=False, highlight=False, style="dim")
    if source.address is not None:
        console.print(f"  {source.address}", markup=False, highlight=False, soft_wrap=True, style="dim")
    titles = {item.id: item.title for item in tables.owner(clause.id).sources}
    for item in clause.disagreements:
        console.print(f"  but {titles[item.source]}: {item.says}", markup=False, highlight=False)
    if clause.where is not None:
        console.print(f"  where {clause.where}", markup=False, highlight=False)
    if clause.holds is not None:
        console.print(f"  holds: {clause.holds}", markup=False, highlight=False)
    for name, meaning in clause.behaviours.items():
        right = " (right there)" if name in clause.accepted else ""
        console.print(f"  {name}{right}: {meaning}", markup=False, highlight=False)
    if clause.permitted:
        console.print(f"  permitted: {', '.join(clause.permitted)}", markup=False, highlight=False)


def print_coverage(
    tables: Tables,
    tests: Mapping[str, Sequence[str]],
    print_line: Callable[[str], object],
    declared: Mapping[str, int] | None = None,
    alone: Mapping[str, int] | None = None,
    everything: bool = True,
) -> list[str]:
    """Say which tests check each clause, and what it catches.

    Args:
        tables: the spec tables.
        tests: the tests that check each clause.
        print_line: is given each line.
        declared: how many mutants of the catalogue break each clause; ``None`` outside a checkout.
        alone: how many mutants were caught by this clause and no other, from a proof; ``None`` without one.
        everything: whether to list each clause, or only how many there are.

    Returns:
        The ids of the clauses that no test checks.
    """
    unchecked = [clause.id for clause in tables.clauses if clause.id not in tests]
    for clause in tables.clauses if everything else ():
        power = []
        if declared is not None:
            power.append(f"{declared.get(clause.id, 0)} mutants break it")
        if alone is not None:
            power.append(f"{alone.get(clause.id, 0)} are caught by it alone")
        print_line(f"{clause.id} ({clause.obligation})" + (f": {', '.join(power)}" if power else ""))
        for test in tests.get(clause.id, ()):
            print_line(f"  {test}")
        if clause.id not in tests:
            print_line("  no test")
    print_line(f"{many(len(tables.clauses), 'clause')}, {len(unchecked)} of them checked by no test")
    if not everything:
        _print_coverage_counts(tables, tests, print_line, declared, alone)
    for clause_id in unchecked:
        print_line(f"no test checks {clause_id}")
    return unchecked


def _print_coverage_counts(
    tables: Tables,
    tests: Mapping[str, Sequence[str]],
    print_line: Callable[[str], object],
    declared: Mapping[str, int] | None,
    alone: Mapping[str, int] | None,
) -> None:
    """Say of how many clauses each kind is, how many tests check them, and how many mutants break them."""
    obligations = Counter(clause.obligation for clause in tables.clauses)
    print_line("  " + ", ".join(f"{count:,} {obligation}" for obligation, count in sorted(obligations.items())))
    print_line(f"  checked by {many(len({test for names in tests.values() for test in names}), 'test')}")
    for counts, words in ((declared, "are broken by a mutant"), (alone, "caught a mutant that no other clause caught")):
        if counts is not None:
            broken = sum(counts.get(clause.id, 0) > 0 for clause in tables.clauses)
            print_line(f"  {broken:,} {words} ({many(sum(counts.values()), 'mutant')})")


def compare_pages(paths: Iterable[str], tables: Tables, print_line: Callable[[str], object]) -> int:
    """Compare pages with the tables, printing every difference; gives how many there are."""
    differences = 0
    for path in paths:
        page = load_page(path)
        operator = identify(page, tables)
        known = known_sentences().get(operator.operator)
        page_differences = compare(page, operator, known)
        differences += len(page_differences)
        for difference in page_differences:
            print_line(f"{path}: {difference}")
        for note in notes(page, operator, known):
            print_line(f"{path}: note: {note}")
        print_line(
            f"{path}: {operator.short_name}: "
            f"{many(len(page_differences), 'difference') if page_differences else 'no differences'}"
        )
    return differences
