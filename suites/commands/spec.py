"""``dmlcts spec``: the tables shown, checked, traced to their tests, and compared with the operator pages."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dmlcts.suites.checkout import proof_of_the_suite
from dmlcts.suites.commands.options import NOT_CONFORMANT
from dmlcts.suites.console.listeners import judges_nothing
from dmlcts.suites.console.printing import Commands, print_line, print_text
from dmlcts.suites.options.command_line import options_of


@click.group(cls=Commands)
def spec() -> None:
    r"""Read, check, trace and compare the spec tables.

    \b
    dmlcts spec show CLIP
    dmlcts spec coverage
    """


@spec.command()
@click.argument("name", required=False, metavar="[OPERATOR|GROUP|CLAUSE]")
@options_of("spec show")
@judges_nothing
def show(name: str | None, extra_tables: tuple[str, ...]) -> None:
    r"""Print the operators, a group of them, one operator's table, or clauses.

    \b
    dmlcts spec show
    dmlcts spec show CLIP
    dmlcts spec show rounding
    dmlcts spec show 'clip.cast.*'
    """
    from dmlcts.specs.loading import load_tables
    from dmlcts.suites.commands.listing import print_clauses, print_operator, print_operators
    from dmlcts.suites.console.plain import PlainConsole

    loaded = load_tables(*map(Path, extra_tables))
    if name is None:
        print_operators(PlainConsole(), loaded.operators.values())
    elif name.lower() in loaded.groups:
        print_operators(PlainConsole(), loaded.groups[name.lower()])
    elif "." in name:
        print_clauses(PlainConsole(), loaded, name)
    else:
        print_operator(PlainConsole(), loaded, loaded.selected(name)[0])


@spec.command()
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH]…")
@judges_nothing
def lint(paths: tuple[str, ...]) -> None:
    r"""Check the built-in tables, and the files and folders that you name.

    Each fault is printed with file, line, column, cause and mend. Exit code 2 if there is one.

    \b
    dmlcts spec lint
    dmlcts spec lint mine/
    """
    from dmlcts.specs.loading import load_tables
    from dmlcts.specs.number_text import many

    loaded = load_tables(*map(Path, paths))
    counted = (("table", loaded.digests), ("clause", loaded.clauses), ("operator", loaded.operators))
    print_line(f"{', '.join(many(len(members), noun) for noun, members in counted)}: no fault")


@spec.command()
@click.argument("path", type=click.Path(), metavar="FILE")
@judges_nothing
def upgrade(path: str) -> None:
    r"""Convert a table of an older format to the current one, in place.

    Unchanged parts keep their layout. Run `dmlcts spec lint` afterwards: the id of a clause now decides which test
    checks it, and a latitude applies only if a clause of the table lists it.

    \b
    dmlcts spec upgrade mine/ceiling.yaml
    """
    from dmlcts.specs.loading.upgrading import upgrade_file

    upgrade_file(Path(path))
    print_line(f"{path}: rewritten in the present format; `dmlcts spec lint {path}` says what is left to do")


@spec.command()
@options_of("spec coverage")
@judges_nothing
def coverage(extra_tables: tuple[str, ...], proof: str | None, everything: bool) -> None:
    r"""Count the clauses that tests check and mutants break, and the combinations that are tried.

    With --all, the command lists the tests of each clause, and for each operator and data type the pairs of levels
    (specs/shared/factors.yaml), the pairs that the quick profile requires, and the pairs that it skips, with the
    reason: a constraint or the cost. Exit code 1 if no test checks a clause, or a required pair is missing.

    \b
    dmlcts spec coverage
    dmlcts spec coverage --all
    dmlcts spec coverage --all --proof proof.json
    """
    from collections import Counter

    from dmlcts.reports.documents.killmatrix import load_proof, powers
    from dmlcts.specs.loading import load_tables
    from dmlcts.suites.combinations.listing import print_combinations
    from dmlcts.suites.commands.listing import print_coverage
    from dmlcts.suites.families.family import functions_by_clause
    from dmlcts.suites.running.options import Settings

    proving = proof_of_the_suite()
    mutants = None if proving is None else proving.catalogues()[0]  # an installed copy has no mutants to count
    declared = None if mutants is None else Counter(mutant.clause for mutant in mutants)
    alone = None if proof is None else powers(load_proof(proof))
    loaded = load_tables(*map(Path, extra_tables))
    unchecked = print_coverage(
        loaded, functions_by_clause(Settings.read(extra_tables=extra_tables)), print_line, declared, alone, everything
    )
    missed = print_combinations(loaded, print_line, everything=everything)
    if not everything:
        print_line("`dmlcts spec coverage --all` lists each clause with its tests, and each combination")
    sys.exit(NOT_CONFORMANT if unchecked or missed else 0)


@spec.command()
@click.argument("pages", nargs=-1, required=True, type=click.Path(), metavar="PAGE.txt…")
@options_of("spec compare")
def compare(pages: tuple[str, ...], extra_tables: tuple[str, ...], known: bool) -> None:
    r"""Compare the text of operator pages, in any language, with the tables; exit code 1 if something differs.

    The command compares formula, struct, support tables, constraints, quotations and, if an operator's sentences are
    known (as digests; no page's text is kept), every sentence. It lists sentences that no clause quotes as notes.

    \b
    dmlcts spec compare page.txt
    """
    from dmlcts.specs.comparing.known import yaml_of
    from dmlcts.specs.loading import load_tables
    from dmlcts.specs.pages import load_page
    from dmlcts.suites.commands.listing import compare_pages

    loaded = load_tables(*map(Path, extra_tables))
    if known:
        print_text(yaml_of(map(load_page, pages), loaded).rstrip("\n"))
        return
    sys.exit(NOT_CONFORMANT if compare_pages(pages, loaded, print_line) else 0)
