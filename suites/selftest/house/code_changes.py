"""Small changes of a module's code, one at a time: what ``code_mutation`` tries the selftests on."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_PAIRS = [
    ("min", "max"),
    ("any", "all"),
    ("floor", "ceil"),
    ("minimum", "maximum"),
    ("fmin", "fmax"),
    ("zeros", "ones"),
    ("add", "subtract"),
]
_NAMES = {name: other for pair in _PAIRS for name, other in (pair, pair[::-1])}


@dataclass
class Site:
    """A node of the tree, where it hangs, and where it stands."""

    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST
    within: str

    def put(self, node: ast.AST) -> None:
        """Hang another node there."""
        ast.copy_location(node, self.node)
        ast.fix_missing_locations(node)
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


@dataclass
class Mutant:
    """One change of one module."""

    path: str
    line: int
    within: str
    source: str
    change: str
    site: Site = field(repr=False)
    replacement: ast.AST = field(repr=False)

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies it while lines are added elsewhere."""
        return self.within, self.source, self.change

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.change}"


_UNTOUCHED = {"annotation", "returns", "decorator_list", "format_spec", "type_params"}


def sites(node: ast.AST, within: str = "") -> Iterator[Site]:
    """Every node below ``node`` that may be changed."""
    for name, value in ast.iter_fields(node):
        if name in _UNTOUCHED or isinstance(node, (ast.Import, ast.ImportFrom, ast.Assert)):
            continue
        several = isinstance(value, list)
        for index, child in enumerate(value if several else [value]):
            if not isinstance(child, ast.AST):
                continue
            inner = within
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                inner = f"{within}.{child.name}".lstrip(".")
            yield Site(node, name, index if several else None, child, within)
            yield from sites(child, inner)


def _clone(node: Any, **changes: Any) -> Any:
    cloned = copy.copy(node)
    for name, value in changes.items():
        setattr(cloned, name, value)
    return cloned


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    """Other expressions to put in the place of this one."""
    match node:
        case ast.Compare(ops=ops):
            for index, operator in enumerate(ops):
                yield _clone(node, ops=[*ops[:index], _COMPARISONS[type(operator)](), *ops[index + 1 :]])
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS:
            yield _clone(node, op=_OPERATORS[type(operator)]())
        case ast.BoolOp(op=operator):
            yield _clone(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.Name(id=name, ctx=ast.Load()) if name in _NAMES:
            yield _clone(node, id=_NAMES[name])
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in _NAMES:
            yield _clone(node, attr=_NAMES[name])
        case ast.IfExp(test=test):
            yield _clone(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Slice(lower=lower, upper=upper, step=step):
            for bound, name in ((lower, "lower"), (upper, "upper"), (step, "step")):
                if bound is not None:
                    yield _clone(node, **{name: None})
                    if name != "step" and not isinstance(bound, (ast.Constant, ast.UnaryOp)):
                        yield _clone(node, **{name: ast.BinOp(bound, ast.Add(), ast.Constant(1))})
        case ast.comprehension(ifs=ifs):
            for index, test in enumerate(ifs):
                yield _clone(node, ifs=[*ifs[:index], ast.UnaryOp(ast.Not(), test), *ifs[index + 1 :]])


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Other statements to put in the place of this one."""
    match node:
        case ast.If(test=test) | ast.While(test=test):
            yield _clone(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield ast.Return(ast.Constant(None))
        case ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            yield ast.Pass()
        case ast.AugAssign(op=operator):
            yield ast.Pass()
            if type(operator) in _OPERATORS:
                yield _clone(node, op=_OPERATORS[type(operator)]())
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()
        case ast.match_case(guard=guard) if guard is not None:
            yield _clone(node, guard=ast.UnaryOp(ast.Not(), guard))


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _text(node: ast.AST) -> str:
    """A node in one line: of a compound statement only its head."""
    match node:
        case ast.If(test=test):
            return f"if {ast.unparse(test)}"
        case ast.While(test=test):
            return f"while {ast.unparse(test)}"
        case ast.match_case(guard=guard):
            return f"case if {ast.unparse(guard)}" if guard else "case"
        case ast.Slice():
            return ast.unparse(ast.Subscript(ast.Name(""), node))
    return " ".join(ast.unparse(node).split())


def mutants(path: Path) -> tuple[ast.Module, list[Mutant]]:
    """The module's tree, and every change of it."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    tree = ast.parse(source)
    all_mutants: list[Mutant] = []
    seen: Counter[tuple[str, str, str]] = Counter()
    for site in sites(tree):
        if _hidden(site):
            continue
        for replacement in (*_expressions(site.node), *_statements(site.node)):
            line = _line(site)
            change = f"{_text(site.node)} -> {_text(replacement)}"
            mutant = Mutant(
                path.relative_to(ROOT).as_posix(), line, site.within, lines[line - 1].strip(), change, site, replacement
            )
            seen[mutant.key] += 1
            if seen[mutant.key] > 1:
                mutant.change += f" #{seen[mutant.key]}"
            all_mutants.append(mutant)
    return tree, all_mutants


def _line(site: Site) -> int:
    for node in (site.node, *ast.walk(site.node), site.parent):
        if hasattr(node, "lineno"):
            return int(node.lineno)
    raise AssertionError("no node without a place")


def _hidden(site: Site) -> bool:
    """Whether the node only decides what a traceback shows."""
    return isinstance(site.parent, ast.Assign) and ast.unparse(site.parent.targets[0]) == "__tracebackhide__"
