"""``results.html``: the results document as one self-contained page.

Made from the document and the tables alone. The page loads nothing: styles and script stand in it, and its
content security policy permits these two, by digest, and nothing else. It reads without the script.

Everything in the document is untrusted: the template engine escapes it, and
:func:`~dmlcts.reports.summaries.characters.visible` writes control characters and those that reorder text as their code
points, so that what is shown is what is there.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.metadata
import importlib.resources
import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.selecting import behaviours_of_selection
from dmlcts.reports.documents.validation import FAILURE_FORMAT
from dmlcts.reports.documents.waivers import accounts, with_waived
from dmlcts.reports.documents.wording import behaviour_text, is_typed_in_results, places, short, type_order
from dmlcts.reports.documents.writing import dump_yaml
from dmlcts.reports.summaries.causes import first_line
from dmlcts.reports.summaries.characters import visible
from dmlcts.reports.summaries.error_plot import error_drawing, power
from dmlcts.reports.summaries.known import Known, Likeness, known_implementations, likenesses
from dmlcts.reports.summaries.measured import remark, side_by_side
from dmlcts.reports.summaries.overview import Failure, Overview, grouped, judged_name, outcome_of, overview
from dmlcts.reports.summaries.plotting import Bucket, Track, drawing
from dmlcts.reports.summaries.provenance import tables_digest
from dmlcts.reports.summaries.reasons import KnownReasons, cause_lines
from dmlcts.reports.views import accuracy
from dmlcts.reports.views.dxdispatch import dxdispatch_model
from dmlcts.reports.views.prose import inline, paragraphs
from dmlcts.specs import DataType
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables

PAGE_MARK = '<meta name="generator" content="dmlcts">'
"""What a page of this project begins with, so that a later run knows that it may replace it."""

MOST_FAILURES = 300
"""Failures that the page shows in full; the rest is counted."""

FEW_OPERATORS = 3
"""So many operators are shown unfolded, and without an overview of them."""

FEW_CLAUSES = 5
"""So many broken clauses are shown unfolded."""

MOST_CAUSES = 8
"""Causes that the head of the page lists unfolded."""

MOST_KNOWN = 4
_IN_RESULTS, _WHERE_STARTED = "in the results folder", "where the run was started"
_INPUT = re.compile(r"(?P<value>\S+) \(0x(?P<bits>[0-9a-f]{2,16})\)")


@dataclass(frozen=True)
class BehaviourLine:
    """One behaviour of the fingerprint, and what known implementations do instead.

    Attributes:
        clause: the clause's id.
        subject: the clause's subject.
        behaviour: what was seen, in words.
        example: one case that shows it.
        where: the operators and data types that show it, in words.
        operators: their ``OperatorDesc`` names, separated by spaces.
        types: their data type names, separated by spaces.
        others: for each known implementation, whether it does the same (``None`` where that is not known), and
            otherwise what it does.
    """

    clause: str
    subject: str
    behaviour: str
    example: str
    where: str
    operators: str
    types: str
    others: tuple[tuple[bool | None, str], ...]


def _slug(label: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:40]


def template(name: str) -> str:
    """The text of one of the package's own templates, style sheets and scripts."""
    return importlib.resources.files("dmlcts.reports").joinpath("templates", name).read_text("utf-8")


def _loaded(name: str) -> str | None:
    try:
        return template(name)
    except FileNotFoundError:
        return None


def breakable(name: str) -> Markup:
    """A name that a narrow column may break behind its underscores, full stops and hyphens, rather than anywhere."""
    return Markup("<wbr>").join(re.split(r"(?<=[_.-])(?=.)", str(visible(name))))


@functools.cache
def environment() -> jinja2.Environment:
    """The template engine as every page uses it: escaping, strict, invisible characters shown."""
    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(_loaded),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    made.filters |= {
        "breakable": breakable,
        "many": many,
        "inline": inline,
        "paragraphs": paragraphs,
        "short": short,
        "slug": _slug,
        "where_typed": lambda replay: _IN_RESULTS if is_typed_in_results(replay) else _WHERE_STARTED,
        "words": lambda outcome: str(outcome).replace("_", " "),
    }
    return made


def inlined(style: str, script: str) -> dict[str, Markup]:
    """A style sheet and a script to stand in a page, and the content security policy that permits only them.

    Returns:
        "style", "script" and "policy", for a template.
    """

    def digest(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    policy = (
        f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    # the three come from this package's own templates
    return {"style": Markup(style), "script": Markup(script), "policy": Markup(policy)}  # noqa: S704


def identity(view: Overview) -> list[tuple[str, object]]:
    """What was judged and how: labels and values."""
    results = view.results
    device, suite = results["device"], results["suite"]
    commit = suite["commit"][:12] + (" (modified)" if suite["modified"] else "") if suite["commit"] else ""
    shown = [
        ("backend", results["backend"]),
        ("adapter", device["adapter"]),
        ("driver", device["driver"]),
        ("library", " ".join(filter(None, (device["library"], device["version"])))),
        ("judged at feature level", results["feature_level"]),
        ("profile", results["profile"] + (", strict IEEE 754" if results["strict"] else "")),
        ("seed", str(results["seed"])),
        ("selection", view.selection or "everything"),
        ("forbidden descriptions refused", str((device["details"] or {}).get("refusals", ""))),
        ("suite", f"dmlcts {suite['version']}" + (f", {commit}" if commit else "")),
        ("run", results["timings"]["started"].replace("T", " ").replace("+00:00", " UTC")),
    ]
    return [(label, value) for label, value in shown if value]


def _provenance(view: Overview, tables: Tables) -> list[tuple[str, object]]:
    results = view.results
    rows: list[tuple[str, object]] = [("schema", results["schema"]), ("suite version", results["suite"]["version"])]
    rows.append(("suite commit", results["suite"]["commit"] or "not a checkout"))
    if results["suite"]["modified"] is not None:
        rows.append(("modified checkout", "yes" if results["suite"]["modified"] else "no"))
    rows += [(f"device {name}", value) for name, value in results["device"].items() if value and isinstance(value, str)]
    for name in ("data_types", "details"):
        if results["device"][name]:
            rows.append((f"device {name.replace('_', ' ')}", _plain(results["device"][name])))
    rows.append(("all tables", f"sha256 {tables_digest(results['specs'])}"))
    for name, digest in results["specs"].items():
        here = tables.digests.get(name)
        note = "" if here == digest else " (another table than here)" if here else " (no such table here)"
        rows.append((f"table {name}", f"sha256 {digest}{note}"))
    rows += [("started", results["timings"]["started"]), ("finished", results["timings"]["finished"])]
    rows.append(("seconds", str(results["timings"]["seconds"])))
    for test in results["timings"]["slowest"][:3]:
        rows.append(("slowest test", f"{test['test']} ({test['seconds']} s)"))
    rows += [(name, _plain(value)) for name, value in results["environment"].items()]
    return rows


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def failing_inputs(failures: Iterable[Failure]) -> dict[str, dict[str, tuple[Bucket, ...]]]:
    """The inputs that numeric failures name, by data type and then by clause."""
    buckets: dict[str, dict[str, dict[int, Bucket]]] = defaultdict(lambda: defaultdict(dict))
    for failure in failures:
        document = failure.document
        matched = _INPUT.match(document["details"].get("input", ""))
        if matched and document["data_type"] and outcome_of(document).breaks_conformance:
            bits = int(matched["bits"], 16)
            heading = f"{document['clause']} · {short(document['operator'])}"
            bucket = Bucket(bits, bits, 1, label=f"{document['title']} ({matched['value']}, 0x{matched['bits']})")
            buckets[document["data_type"]][heading].setdefault(bits, bucket)
    return {
        name: {heading: tuple(buckets[name][heading].values()) for heading in sorted(buckets[name])}
        for name in sorted(buckets, key=type_order)
    }


def _plots(failures: Iterable[Failure]) -> list[tuple[str, str, Markup]]:
    """By data type: its name, the operators that fail on it, separated by spaces, and the drawing."""
    failures = list(failures)
    drawn = []
    for name, inputs_by_clause in failing_inputs(failures).items():
        tracks = [
            Track(
                str(visible(f"{heading} ({many(len(buckets), 'input')})")),
                tuple(
                    Bucket(bucket.first, bucket.last, bucket.wrong, bucket.judged, str(visible(bucket.label)))
                    for bucket in buckets
                ),
            )
            for heading, buckets in inputs_by_clause.items()
        ]
        title = f"{name}: where wrong inputs lie. " + "; ".join(track.title for track in tracks)
        operators = sorted(
            {failure.document["operator"] for failure in failures if failure.document["data_type"] == name}
        )
        drawn.append((name, " ".join(operators), drawing(DataType[name], tracks, title)))
    return drawn


@dataclass(frozen=True)
class ErrorLine:
    """What was measured of one operator on one signature, in words and drawn.

    Attributes:
        row: the row of the results.
        cells: its cells, as :data:`~dmlcts.reports.views.accuracy.HEADINGS` names them.
        drawing: its errors over the first input; "" where nothing has an error.
        counts: how many results are how far off, and how many were counted apart and why.
        remark: what a wide bound lets pass; "" where nothing is to be remarked.
    """

    row: Mapping[str, Any]
    cells: tuple[str, ...]
    drawing: Markup
    counts: tuple[tuple[str, int], ...]
    remark: str


def error_lines(results: Mapping[str, Any]) -> list[ErrorLine]:
    """What was measured in a run or a sweep, a line an operator and signature."""
    lines = []
    for (_, _, (row,)), texts in zip(side_by_side([results]), accuracy.cells(results), strict=True):
        assert row is not None  # noqa: S101 - of one column every row is there
        shown = [str(visible(text)) for text in texts]
        title = f"{shown[0]} on {shown[1]}: the largest error is {shown[2]} ULP, at {shown[3]}"
        drawn = error_drawing(row, title) if row["range"] else Markup("")
        counts = [("0" if not place else f"≤ {power(place - 2)}", count) for place, count in enumerate(row["bins"])]
        counts = [(label, count) for label, count in [*counts, *row["apart"].items()] if count]
        lines.append(ErrorLine(row, tuple(shown), drawn, tuple(counts), str(visible(remark(row)))))
    return lines


def _dispatch(failure: Failure) -> tuple[str, str]:
    """The DxDispatch model of a failure's case as text, or why there is none."""
    document = failure.document
    if not document["case"]:
        return "", ""
    written, because = dxdispatch_model(document["case"], f"{document['clause']}: {document['title']}")
    if written is None:
        return "", because
    return json.dumps(written, indent=2, ensure_ascii=False), ""


def _replay(failure: Failure, suite_version: str) -> tuple[str, str]:
    """The command that judges a failure's case again without its file, and the case as that file holds it; "" for none.

    The command reads the case from the standard input.
    """
    document = failure.document
    try:
        words = shlex.split(document["replay"])
    except ValueError:
        return "", ""
    if words[:2] != ["dmlcts", "replay"] or len(words) < 3 or not document["case"]:
        return "", ""
    names = ("title", "clause", "operator", "data_type", "outcome", "test")
    written = {
        "format": FAILURE_FORMAT,
        **{name: document[name] for name in names},
        "suite_version": suite_version,
        "text": first_line(document),
        "details": document["details"],
        "case": document["case"],
    }
    return shlex.join([*words[:2], "-", *words[3:]]), dump_yaml(written)


def behaviour_lines(
    view: Overview, alike: Sequence[Likeness], known: Sequence[Known], tables: Tables
) -> list[BehaviourLine]:
    """The behaviours of a run, those of one clause that are the same in one line.

    Args:
        view: the run.
        alike: known implementations to set beside it.
        known: all known implementations, those of ``alike`` among them.
        tables: the spec tables, for the words.
    """
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for record in behaviours_of_selection(view.results):
        grouped[record["clause"], record["behaviour"]].append(record)
    by_name = {implementation.name: implementation.behaviours for implementation in known}
    lines = []
    for (clause, behaviour), members in grouped.items():
        pairs = [(member["operator"], member["data_type"]) for member in members]
        others: list[tuple[bool | None, str]] = []
        for likeness in alike:
            rows = [(clause, *pair) for pair in pairs if (clause, *pair) in by_name[likeness.name]]
            differing: dict[str, list[tuple[str, str]]] = defaultdict(list)
            for row in rows:
                if row in likeness.differing:
                    differing[likeness.differing[row]].append(row[1:])
            words = "; ".join(
                text if len(where) == len(rows) else f"{text} ({places(where, tables)})"
                for text, where in differing.items()
            )
            others.append((None if not rows else not differing, words))
        rule = view.rules.get(clause)
        lines.append(
            BehaviourLine(
                clause,
                rule.subject if rule else "other",
                behaviour_text(clause, behaviour, tables),
                members[0]["example"],
                places(pairs, tables),
                " ".join(dict.fromkeys(operator for operator, _ in pairs)),
                " ".join(dict.fromkeys(name for _, name in pairs)),
                tuple(others),
            )
        )
    return lines


def page(
    results: Mapping[str, Any],
    tables: Tables,
    known: Sequence[Known] | None = None,
    reasons: KnownReasons | None = None,
) -> str:
    """The results document as an HTML page.

    Args:
        results: a valid results document.
        tables: the tables to take the clauses' words from.
        known: the implementations to compare the observed behaviours with; ``None`` for those shipped.
        reasons: why the implementation departs, where a baseline says it.
    """
    reasons = reasons or KnownReasons()
    view = overview(results, tables)
    known = known_implementations() if known is None else known
    alike = likenesses(results, known)[:MOST_KNOWN]
    behaviours = behaviour_lines(view, alike, known, tables)
    outcomes = {outcome_of(row) for row in [*view.rows, *results["failures"]]}
    groups = grouped(view.failures[:MOST_FAILURES], tables)
    causes = cause_lines(groups, view.rows, reasons, tables)
    broken = [entry for entry in view.entries if entry.outcome.breaks_conformance]
    sections: list[tuple[str, str, str | None]] = [("matrix", "Matrix", None)]
    sections += [("failures", "Failures", f"{len(view.failures):,}")] if view.failures else []
    waivers = [(account, places(account.waived, tables)) for account in accounts(results)]
    sections += [("waivers", "Waivers", f"{len(waivers):,}")] if waivers else []
    sections += [("behaviours", "Where the pages are silent", f"{len(behaviours):,}")] if behaviours else []
    errors = error_lines(results)
    sections += [("accuracy", "Accuracy", f"{len(errors):,}")] if errors else []
    sections += [("clauses", "Clauses", f"{len(view.entries):,}"), ("provenance", "Provenance", None)]
    rendered = (
        environment()
        .get_template("report.html")
        .render(
            **inlined(template("report.css"), template("page.js")),
            view=view,
            words=with_waived(view.verdict.words, view.rows),
            results=results,
            identity=identity(view),
            provenance=_provenance(view, tables),
            sections=sections,
            broken=broken,
            shown_open=broken if len(broken) <= FEW_CLAUSES else [],
            cases=sum(row["cases"] for row in view.rows),
            elements=sum(row["elements"] for row in view.rows),
            operators=sorted({row["operator"] for row in view.rows}),
            types=sorted({row["data_type"] for row in view.rows}, key=type_order),
            outcomes=[outcome for outcome in Outcome if outcome in outcomes],
            subjects=list(dict.fromkeys(subject for matrix in view.matrices for subject, _ in matrix.lines)),
            plots=_plots(view.failures[:MOST_FAILURES]),
            dispatches=[_dispatch(failure) for failure in view.failures[:MOST_FAILURES]],
            replays=[_replay(failure, results["suite"]["version"]) for failure in view.failures[:MOST_FAILURES]],
            groups=groups,
            causes=causes,
            cause_of={number: place for place, line in enumerate(causes, 1) if line.known for number, _ in line.shown},
            reasons_of=reasons.of if any(line.known for line in causes) else "",
            most_causes=MOST_CAUSES,
            judged=judged_name(results["backend"], results["device"]),
            waivers=waivers,
            behaviours=behaviours,
            errors=errors,
            likenesses=alike,
            most=MOST_FAILURES,
            few=FEW_OPERATORS,
            version=importlib.metadata.version("dmlcts"),
        )
    )
    return rendered.lstrip() + "\n"
