"""How fast a sweep is in which shape: ``python -m dmlcts.suites.benchmarks.sweep_variants``.

One line for each way of sweeping ROUND on FLOAT32: elements of a tensor, tensors at once, judging threads,
processes, isolation, with streams or uploading. Of the seconds of all threads, those of the thread that leads say what
it waited for: "generate" is submitting, "device" the device and the way back, "wait" the judging threads; "judge" is
summed over these.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from dmlcts.backends.processors import usable_processors
from dmlcts.reports.documents.results import environment, suite_identity
from dmlcts.reports.documents.writing import write_json
from dmlcts.suites.benchmarks.judging_speed import Figure, swept
from dmlcts.suites.console.printing import complain

_BINARY = 1 << 20


def _variants(
    sizes: list[int], slots: list[int], threads: list[int], workers: list[int], isolations: list[str], plain: bool
) -> Iterator[dict[str, Any]]:
    for isolation, number, size, slot_count, judging in itertools.product(isolations, workers, sizes, slots, threads):
        yield {
            "isolation": isolation,
            "workers": number,
            "tensor_elements": size,
            "slot_count": slot_count,
            "threads": judging,
        }
    for isolation in isolations if plain else ():
        yield {"isolation": isolation, "workers": 1, "streams": False}


def _line(variant: dict[str, Any], figure: Figure) -> str:
    size = variant.get("tensor_elements", 0)
    shape = (
        "uploading"
        if not variant.get("streams", True)
        else (
            f"2^{size.bit_length() - 1 if size else '-'} x {variant['slot_count'] or '-'}, "
            f"{variant['threads'] or '-'} threads"
        )
    )
    details = figure.details
    stages = "  ".join(f"{name} {spent:.2f}" for name, spent in details["stages"].items())
    return (
        f"{variant['isolation']:8} -n {variant['workers']}  {shape:26} {figure.rate / 1e9:6.3f} G/s  "
        f"{details['seconds']:6.2f} s: {stages}  memory {details['memory'] // _BINARY} MiB  wrong {details['wrong']}"
    )


@click.command()
@click.option("--backend", default="wgpu", show_default=True)
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE")
@click.option("--size", "sizes", multiple=True, type=int, default=[0], help="log2 of a tensor's elements; 0: usual.")
@click.option("--slots", multiple=True, type=int, default=[0], help="Tensors on the device at once; 0: the usual.")
@click.option("--threads", multiple=True, type=int, default=[0], help="Judging threads; 0: the usual.")
@click.option("-n", "workers", multiple=True, type=int, default=[1], help="Processes.")
@click.option("--isolation", "isolations", multiple=True, default=["none", "process"])
@click.option("--plain", is_flag=True, help="Also without streams.")
@click.option("--targets", default=0, help="Rounding modes; 0: all three.")
@click.option("--share", default=1, help="One in so many of the inputs.")
@click.option("--json", "json_path", type=click.Path(path_type=Path))
def main(
    backend: str,
    options: tuple[str, ...],
    sizes: list[int],
    slots: list[int],
    threads: list[int],
    workers: list[int],
    isolations: list[str],
    plain: bool,
    targets: int,
    share: int,
    json_path: Path | None,
) -> None:
    """Sweep ROUND FLOAT32 in every combination of what is given, and print a line for each."""
    complain(f"{usable_processors()} processors; {environment().get('processor', '')}")
    figures = []
    elements = [size and 1 << size for size in sizes]
    for variant in _variants(elements, [*slots], [*threads], [*workers], [*isolations], plain):
        figure = swept(backend, options, "ROUND", "FLOAT32", lambda text: None, share=share, targets=targets, **variant)
        click.echo(_line(variant, figure))
        figures.append({**variant, "elements_per_second": round(figure.rate), **figure.details})
    if json_path is not None:
        write_json(json_path, {"backend": backend, "variants": figures, "suite": suite_identity()})


if __name__ == "__main__":
    main()
