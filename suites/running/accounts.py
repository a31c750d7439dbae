"""A finding in full, as a person reads it: what was asked, what came back, the clause that it breaks, the replay."""

from __future__ import annotations

from dmlcts.reports.summaries.characters import one_line, quoted
from dmlcts.specs import TensorDesc
from dmlcts.specs.models import Clause
from dmlcts.specs.tables import Tables
from dmlcts.suites.judging.findings import Finding, attribute_text


def _tensor_text(tensor: TensorDesc) -> str:
    strides = "packed" if tensor.strides is None else f"strides {list(tensor.strides)}"
    return f"{tensor.data_type.name} {list(tensor.sizes)}, {strides}, {tensor.total_size_in_bytes} bytes"


def clause_text(tables: Tables, clause: Clause) -> list[str]:
    """The clause with its quotation, source and known disagreements, one line each."""
    source = tables.source(clause.id)
    lines = [f"{clause.id} ({clause.obligation}): {clause.text}"]
    lines.append(f'"{clause.quotation.words}", {source.cited}' if clause.quotation else source.cited)
    titles = {item.id: item.title for item in tables.owner(clause.id).sources}
    lines += [f"but {titles[item.source]}: {item.says}" for item in clause.disagreements]
    return lines


def evidence(finding: Finding) -> dict[str, str]:
    """What was asked and what came back: label and text, in the order in which a person wants them."""
    case = finding.case
    operator, placement = case.operator, case.placement
    alias = placement.aliased(operator)
    placed = "" if alias is None else ", in place" if len(operator.inputs) == 1 else f", in place of {alias}"
    if len(operator.tensors) == 2 and operator.input == operator.output:
        details = {"tensors": _tensor_text(operator.output) + placed}
    else:
        details = {name: _tensor_text(tensor) for name, tensor in operator.tensors.items()}
        details[operator.output_name] += placed
    if placement.one_region:
        details["placement"] = "inputs with equal descriptions share one region"
    if placement.overlapping:
        details["placement"] = "each input begins 16 bytes behind the one before, in its region"
    details |= {name: attribute_text(value, case.data_type) for name, value in case.operator.attributes.items()}
    return details | dict(finding.details)


def account(tables: Tables, finding: Finding, replay: str) -> str:
    """The full account of a finding: what was asked, what came back, why it is wrong, how to see it again."""
    lines = [f"{finding.case.operator.name} on {finding.case.data_type.name}: {one_line(finding.title)}"]

    def put(label: str, words: str) -> None:
        lines.append(f"  {label:<12} {quoted(words)}")

    for label, detail in evidence(finding).items():
        put(label, detail)
    for index, line in enumerate(clause_text(tables, tables.clause(finding.clause))):
        put("clause" if index == 0 else "", line)
    put("replay", replay)
    return "\n".join(lines)
