"""The pages of a site: every cell leads to its evidence, no link is broken, what does not compare is marked."""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from dmlcts.reports.documents.validation import parse_document
from dmlcts.reports.site.kept import StrictTablesError, collected, read_kept, slug_of
from dmlcts.reports.site.markup import tightened, with_shared
from dmlcts.reports.site.pages import POLICY, site_files
from dmlcts.reports.site.sources import Sources, read_baselines, read_histories, read_pairs
from dmlcts.reports.site.standing import Standing
from dmlcts.reports.views.badge import badge_svg
from dmlcts.reports.views.html import inlined, template
from dmlcts.reports.views.prose import inline, paragraphs
from dmlcts.specs import UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.checkout import kept_histories, kept_pairs, kept_results
from dmlcts.suites.running.results_page import kept_baselines
from dmlcts.suites.selftest.reports.report_samples import conformant, failing, hostile
from dmlcts.suites.selftest.site.links import broken_links, pages, reached, target
from dmlcts.suites.selftest.site.site_samples import PAIR, hostile_sources, kept, sources

MOST_BYTES = 10_000_000
CELL = re.compile(r"<td(?: class=(\w))?>(?:<a href=([^ >]*)[^>]*>)?(.*?)(?=<td|\n|$)")


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return site_files(sources(tmp_path_factory.mktemp("sources")))


@functools.cache
def of_the_repository() -> dict[str, bytes]:
    kept_sources = Sources(
        collected(read_kept(kept_results())),
        read_baselines(kept_baselines()),
        read_histories(kept_histories()),
        read_pairs(kept_pairs()),
        load_tables(),
    )
    return site_files(kept_sources)


def rows(page: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """What the head of each row of a page's table leads to, and the kind, the link and the text of its cells."""
    for row in page.partition("<tbody>")[2].partition("</table>")[0].split("<tr>")[1:]:
        head = re.match(r"<th scope=row><a href=([^ >]*)>", row)
        assert head is not None, row
        yield head[1], CELL.findall(row)


def without_evidence(files: Mapping[str, bytes]) -> list[str]:
    """The cells of a site that two clicks do not lead from to their evidence."""
    read = {name: data.decode() for name, data in files.items() if name.endswith(".html")}
    wanting = []
    for page, cells in rows(read["index.html"]):
        for _, link, text in cells:
            name, _, column = link.partition("#")
            if text and (name != page or f"<th scope=col id={column}>" not in read[name]):
                wanting.append(f"{link} of {text}")
    for name in read:
        if name.startswith("operators/"):
            for head, cells in rows(read[name]):
                clause = head.removeprefix("#")
                for kind, link, text in cells:
                    breach = f"<div class=breach id={clause}--{link.partition('--')[2]}>"
                    proof = breach if kind == "f" else f"<section class=proof id={clause}>\n<h3 id={link[1:]}>"
                    begins = f"#{clause}--" if kind == "f" else "#"
                    if text and not (proof in read[name] and link.startswith(begins)):
                        wanting.append(f"{name}{link} of {text}")
    return wanting


def test_no_link_is_broken_and_everything_is_reached(usual: dict[str, bytes]) -> None:
    assert list(broken_links(usual)) == []
    assert set(usual) - reached(usual) == set()


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (b"href=results.html", b"href=result.html", "index.html: result.html leads to no file"),
        (b"operators/clip.html#nx", b"operators/clip.html#ny", "leads to no place on its page"),
        (b"href=results.html", b"href=javascript:1", "is no address of the web"),
        (b"id=main", b"id=nothing", "id nothing stands twice"),
    ],
)
def test_a_broken_link_would_be_noticed(usual: dict[str, bytes], old: bytes, new: bytes, fault: str) -> None:
    assert old in usual["index.html"]
    noticed = list(broken_links({**usual, "index.html": usual["index.html"].replace(old, new)}))
    assert any(fault in line for line in noticed)


def test_every_cell_leads_to_its_evidence_in_two_clicks(usual: dict[str, bytes]) -> None:
    assert without_evidence(usual) == []
    assert [cell for _, cells in rows(usual["index.html"].decode()) for cell in cells if cell[2]]


@pytest.mark.parametrize(
    ("page", "old", "new"),
    [
        ("operators/round.html", "<div class=breach id", "<div id"),
        ("operators/round.html", "<h3 id=2>", "<h3 id=3>"),
        ("operators/round.html", "<a href=#2>", "<a href=#1>"),
        ("operators/round.html", "<a href=#2>", ""),
        ("operators/round.html", "<td class=f><a href=#", "<td class=f><a href=#x"),
        ("index.html", "<a href=operators/clip.html#nx", "<a href=operators/round.html#nx"),
        ("index.html", "<td class=f><a", "<td class=f><b"),
    ],
)
def test_a_cell_without_evidence_would_be_noticed(usual: dict[str, bytes], page: str, old: str, new: str) -> None:
    text = usual[page].decode()
    assert old in text
    assert without_evidence({**usual, page: text.replace(old, new, 1).encode()})


def test_the_evidence_of_a_broken_clause_has_case_quotation_release_report_and_command(usual: dict[str, bytes]) -> None:
    text = usual["operators/round.html"].decode()
    breach = text[text.index("<div class=breach") :].partition("<ul class=holding>")[0]
    for part in (
        "ROUND FLOAT32 with RoundingMode TOWARD_INFINITY: ",
        "-1.0 (0xbf800000)",
        "Adds a <code>half</code>",
        "<b>Since:</b> 2.3.1",
        "<a href=../upstream/round.html>round.md</a> (fixed in 2.4.0)",
        "<a href=https://example.invalid/7 rel=noreferrer>https://example.invalid/7</a> (the thread)",
        "nx.py:Nx 2.3.1 (after 2.2.0) to 2.3.1 (the newest that was judged on it), on FLOAT32",
        "dmlcts replay <a href=../cases/",
    ):
        assert part in breach, part
    proof = text[: text.index("<div class=breach")]
    assert "<blockquote>" in proof[proof.rindex("<section class=proof") :]
    assert "href=https://learn.microsoft.com/" in text


def test_operators_that_most_columns_break_stand_first(usual: dict[str, bytes]) -> None:
    lines = list(rows(usual["index.html"].decode()))
    assert [page for page, _ in lines] == [f"operators/{name}.html" for name in ("round", "clip", "threshold")]
    assert [(kind, text[0]) for kind, _, text in lines[0][1]] == [("f", "✗"), ("", "✓"), ("", "✓")]


def test_versions_are_columns_of_one_implementation_and_the_changes_between_them_a_page(
    usual: dict[str, bytes],
) -> None:
    implementations = [name for name in usual if name.startswith("implementations/")]
    assert len(implementations) == 2
    text = usual["changes.html"].decode()
    assert "2.2.0 · 31.0.101, 2026-11-21 → 2.3.1 · 31.0.101, 2026-11-21" in text
    assert "REGRESSION: 1 newly failing" in text
    assert text.count("<h2 ") == 1, "the other implementation has one kept result"


def test_versions_that_break_a_clause_alike_are_shown_together(tmp_path: Path) -> None:
    other = failing()
    for failure in other["failures"]:
        failure["details"]["got"] = "9.0 (0x41100000)"
    versions = [kept(failing(), version="1"), kept(failing(), version="2"), kept(other, version="3")]
    files = site_files(sources(tmp_path, *versions))
    assert without_evidence(files) == []
    text = files["operators/round.html"].decode()
    breaches = text.split("<div class=breach")[1:]
    assert [re.findall(r"nxdml (\d)</a>", breach.partition("</h4>")[0]) for breach in breaches] == [["3"], ["2", "1"]]
    assert len([name for name in files if name.startswith("cases/") and name.endswith(".yaml")]) == 2


def test_a_clause_that_another_one_of_the_page_explains_leads_there_for_its_case(tmp_path: Path) -> None:
    broken = failing()
    failure = next(each for each in broken["failures"] if each["operator"] == "ELEMENT_WISE_ROUND")
    other = next(
        row
        for row in broken["clauses"]
        if row["operator"] == failure["operator"] and row["id"] != failure["clause"] and row["outcome"] == "pass"
    )
    other |= {"outcome": "fail", "failures": 1, "because": failure["clause"]}
    broken["failures"].append(failure | {"clause": other["id"]})
    text = site_files(sources(tmp_path, kept(broken)))["operators/round.html"].decode()
    led = text.partition(f"<div class=breach id={other['id']}--")[2].partition("</div>")[0]
    assert f"A fault of <a href=#{failure['clause']}>" in led
    assert "<p class=line>ROUND FLOAT32" in led
    assert text.count("dmlcts replay <a href=") == 1
    other["because"] = "round.unknown"
    text = site_files(sources(tmp_path, kept(broken)))["operators/round.html"].decode()
    assert "A fault of <code>round.unknown</code>" in text
    assert text.count("dmlcts replay <a href=") == 2, "that clause has no evidence on the page"


def test_implementations_that_break_a_clause_with_the_same_case_are_shown_together(tmp_path: Path) -> None:
    other = failing()
    other["failures"][0]["replay"] = "dmlcts replay failures/a.yaml --backend other"
    other["backend"] = "other"
    files = site_files(sources(tmp_path, kept(failing()), kept(other)))
    text = files["operators/round.html"].decode()
    assert text.count("<div class=breach") == 1
    assert re.findall(r"</a> --backend (\S+)</pre>", text) == ["nx.py:Nx", "other"]
    assert without_evidence(files) == list(broken_links(files)) == []
    shown = re.findall(r"id=(round\.\S+--\S+?)[ >]", text)
    assert len(shown) == len(set(shown)) == 2, "each has an address"


def test_the_page_of_an_implementation_has_reasons_causes_behaviours_and_data(usual: dict[str, bytes]) -> None:
    (name,) = [page for page in usual if page.startswith("implementations/") and "nxdml" in page]
    text = usual[name].decode()
    for part in (
        "Example NX-2 Accelerator",
        "clauses broken.",
        "<h4>Adds a <code>half</code></h4>",
        "See the report and <a",
        "NaN input gives Max",
        "What changed between them",
        ".results.json.gz",
        ".triage.json",
        ".svg",
    ):
        assert part in text, part


def test_the_newest_and_widest_result_of_a_version_is_its_column() -> None:
    older, newer = failing(), conformant()
    older["timings"]["finished"] = "2026-11-20T00:00:00+00:00"
    (implementation,) = collected([kept(newer), kept(older)]).implementations
    (column,) = implementation.columns
    assert column.results["verdict"] == "CONFORMANT"
    assert len(implementation.kept) == 2
    narrow = conformant()
    narrow["clauses"] = [row for row in narrow["clauses"] if row["operator"] == "ELEMENT_WISE_CLIP"]
    (implementation,) = collected([kept(older), kept(narrow)]).implementations
    (column,) = implementation.columns
    assert column.results["verdict"] == "NOT_CONFORMANT", "the newer result judged fewer operators"
    assert [item.results["verdict"] for item in implementation.kept] == ["NOT_CONFORMANT"], "and is left out"
    narrow["clauses"].append(narrow["clauses"][0] | {"data_type": "FLOAT64"})
    (implementation,) = collected([kept(older), kept(narrow)]).implementations
    assert len(implementation.kept) == 2, "it has a row of its own"
    narrow["clauses"].pop()
    thorough = narrow | {"profile": "full"}
    (implementation,) = collected([kept(older), kept(thorough)]).implementations
    assert len(implementation.kept) == 2, "what was judged more thoroughly is no part of it"


def test_other_tables_and_a_modified_suite_are_marked_on_every_page(tmp_path: Path) -> None:
    older, changed = failing(), conformant()
    older["specs"] = dict.fromkeys(older["specs"], "0f" * 32)
    older["timings"]["finished"] = "2026-11-20T00:00:00+00:00"
    changed["suite"]["modified"] = True
    mixed = site_files(sources(tmp_path, kept(older, version="1"), kept(changed, version="2")))
    made = [name for name in mixed if name.endswith(".html") and not name.startswith("pairs/")]
    for name in made:
        text = mixed[name].decode()
        assert "1 of 2 kept results used other tables than the newest" in text, name
        assert "1 of 2 kept results come from a modified suite" in text, name
    index = mixed["index.html"].decode()
    assert index.count("≠ other tables") == index.count("≠ modified suite") == 1
    plain = site_files(sources(tmp_path, kept(failing(), version="1"), kept(conformant(), version="2")))
    assert not any(b'class="note mixture"' in plain[name] for name in made), "the control"


@pytest.mark.parametrize("member", ["tables", "modified"])
def test_strict_tables_refuse_what_would_be_marked(member: str) -> None:
    other = conformant()
    if member == "tables":
        other["specs"] = dict.fromkeys(other["specs"], "0f" * 32)
    else:
        other["suite"]["modified"] = True
    results = [kept(failing(), version="1"), kept(other, version="2")]
    with pytest.raises(StrictTablesError, match=r"1 of 2 kept results .*leave out --strict-tables"):
        collected(results, strict=True)
    assert collected(results).mixture
    assert collected(results[:1], strict=True).mixture == "", "the control"


def test_nothing_of_a_strangers_words_becomes_markup(tmp_path: Path) -> None:
    files = site_files(hostile_sources(tmp_path))
    assert list(broken_links(files)) == []
    for name, page in pages(files).items():
        if name.startswith("pairs/"):
            continue
        assert [members for tag, members in page.tags if tag == "script"] == [
            {"src": "../" * name.count("/") + "page.js", "defer": None}
        ]
        assert not {tag for tag, _ in page.tags} & {"style", "iframe", "object"}
        assert not [key for _, members in page.tags for key in members if key.startswith("on") or key == "style"]
        images = [members["src"] for tag, members in page.tags if tag == "img"]
        assert all(str(image).startswith("../badges/") for image in images)


def test_every_page_has_the_policy_and_loads_the_sites_own_files_alone(usual: dict[str, bytes]) -> None:
    for name, page in pages(usual).items():
        if name.startswith("pairs/"):
            continue
        policies = [members["content"] for tag, members in page.tags if members.get("http-equiv")]
        assert policies == [POLICY]
        for tag, members in page.tags:
            if tag in ("script", "img", "link"):
                place = target(name, str(members.get("src") or members.get("href")))
                assert place is not None
                assert place[0] in usual


def test_the_same_sources_give_the_same_bytes(tmp_path: Path, usual: dict[str, bytes]) -> None:
    assert site_files(sources(tmp_path)) == usual


def test_the_site_lists_its_files_and_its_data_is_valid(usual: dict[str, bytes]) -> None:
    document = parse_document(usual["site.json"], "site-1", "site.json")
    assert document["files"] == sorted(usual)
    assert [column["verdict"] for column in document["columns"]] == ["NOT_CONFORMANT", "CONFORMANT", "CONFORMANT"]
    for column in document["columns"]:
        triage = parse_document(gzip.decompress(usual[column["triage"]]), "triage-1", column["triage"])
        assert bool(triage["causes"]) is (column["verdict"] == "NOT_CONFORMANT")


def test_a_case_of_the_site_is_one_that_replay_reads(usual: dict[str, bytes]) -> None:
    from dmlcts.reports.documents.validation import parse_yaml

    cases = [name for name in usual if name.startswith("cases/") and name.endswith(".yaml")]
    assert cases
    for name in cases:
        assert f"dmlcts replay <a href=../{name}>{name}</a> " in usual["operators/round.html"].decode()
        assert parse_yaml(usual[name], "failure-1", name)["operator"] == "ELEMENT_WISE_ROUND"


def test_a_report_upstream_that_is_missing_is_refused(tmp_path: Path) -> None:
    usual_sources = sources(tmp_path)
    assert site_files(usual_sources), "the control"
    (tmp_path / "round.md").unlink()
    with pytest.raises(UsageError, match=r"round\.md cannot be read.*correct `upstream`"):
        site_files(usual_sources)


def test_the_same_results_twice_and_none_are_refused(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(conformant()))
    assert len(read_kept([tmp_path / "a.json"])) == 1
    with pytest.raises(UsageError, match="holds the same results as"):
        read_kept([tmp_path / "a.json", tmp_path / "b.json"])
    with pytest.raises(UsageError, match="no results to make a site of"):
        collected([])


def test_a_folder_of_pairs_is_copied_with_its_data_and_nothing_else(tmp_path: Path) -> None:
    for name in ("a-to-b.html", "a-to-b.json", "notes.txt", ".hidden"):
        (tmp_path / name).write_text(name)
    assert read_pairs(tmp_path) == {"a-to-b.html": b"a-to-b.html", "a-to-b.json": b"a-to-b.json"}
    with pytest.raises(UsageError, match="cannot be read"):
        read_pairs(tmp_path / "none")


@pytest.mark.parametrize(
    ("rows", "kind", "share", "types"),
    [
        ("", "absent", "", ""),
        ("pass pass", "pass", "✓", "✓ 2"),
        ("pass fail not_supported", "fail", "✗ 1", "✗ 1 of 3"),
        ("crash fail", "fail", "✗ 2", "✗ 2"),
        ("pass not_supported not_supported", "partly", "✓ 33 %", "✓ 1 of 3"),
        ("skipped not_supported", "none", "○", "○ 2"),
        ("characterised characterised", "pass", "◇", "◇ 2"),
        ("characterised pass", "pass", "✓", "✓ 2"),
        ("waived pass", "pass", "✓", "✓ 2"),
    ],
)
def test_a_cell_shows_its_kind_by_sign_and_number(rows: str, kind: str, share: str, types: str) -> None:
    standing = Standing.of({"outcome": outcome} for outcome in rows.split())
    assert (standing.kind, standing.share, standing.types) == (kind, share, types)


def test_a_persons_markdown_has_code_and_links_to_the_web_alone() -> None:
    assert inline("a `b<c` d") == "a <code>b&lt;c</code> d"
    assert inline("[w](https://e.invalid/x)") == '<a href="https://e.invalid/x" rel="noreferrer">w</a>'
    assert inline("[w](../x.md) [v](javascript:1) <b>") == "w v &lt;b&gt;"
    assert paragraphs("a\n\nb\nc") == "<p>a</p>\n<p>b\nc</p>"


def test_names_in_addresses_are_plain_and_leave_out_repeated_words() -> None:
    assert slug_of("directml", "DirectML.dll", "") == "directml-dll"
    assert slug_of("1.31.1") == "1-31-1"
    assert slug_of("../<x>", "é") == "x"
    assert slug_of("") == "unnamed"


def test_results_files_name_implementations_and_the_newest_version_has_the_bare_name(tmp_path: Path) -> None:
    for folder, version in (("old", "2.1"), ("new", "2.2")):
        document = conformant()
        document["device"]["version"] = version
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "nx-cuda.results.json").write_text(json.dumps(document))
    (implementation,) = collected(read_kept(tmp_path.glob("*/nx-cuda.results.json"))).implementations
    assert implementation.slug == "nx-cuda"
    assert [column.slug for column in implementation.columns] == ["nx-cuda", "nx-cuda-2-1-31-0-101"]
    assert implementation.kept[0].slug == "nx-cuda-2-1-31-0-101-2026-11-21"
    (tmp_path / "old/nx-cuda.results.json").rename(tmp_path / "results.json")
    (unnamed,) = collected(read_kept([tmp_path / "results.json"])).implementations
    assert unnamed.slug == "nx-py-nx-nxdml-example-2-accelerator", "backend, library and adapter"


def test_a_page_loses_only_what_html_lets_it_lose() -> None:
    text = '<ul class="a b">\n<li id="c">1</li>\n</ul><p class="d">2</p>\n<p>3 <a href="e?f=g">4</a></p> 5'
    assert tightened(text) == '<ul class="a b">\n<li id=c>1\n</ul><p class=d>2\n<p>3 <a href="e?f=g">4</a></p> 5'
    assert tightened('<pre>a="b"\n\n</pre>') == '<pre>a="b"\n\n</pre>'


def test_a_pair_shares_the_sites_style_and_script_and_a_strangers_page_stays_as_it_is() -> None:
    parts = inlined(template("report.css"), template("page.js"))
    own = '<meta content="{policy}"><style>{style}</style><p>1</p><p>2</p><script>{script}</script>'.format(**parts)
    assert (
        with_shared(own.encode(), "../style.css", "../page.js", POLICY)
        == (
            f'<meta content="{POLICY}"><link rel=stylesheet href=../style.css><p>1<p>2</p>'
            "<script src=../page.js defer></script>"
        ).encode()
    )
    assert with_shared(PAIR, "../style.css", "../page.js", POLICY) == PAIR


def test_a_badge_is_drawn_and_escaped() -> None:
    drawing = badge_svg(failing())
    assert "not conformant (1 clause), level 5.0" in drawing
    assert drawing.count("<text") == 2
    harmed = hostile() | {"feature_level": '<script>"'}
    assert "<script>" not in badge_svg(harmed)


@pytest.mark.size("thorough")
def test_the_site_of_the_repositorys_own_results_is_whole_and_small() -> None:
    files = of_the_repository()
    assert list(broken_links(files)) == []
    assert set(files) - reached(files) == set()
    assert without_evidence(files) == []
    assert sum(map(len, files.values())) < MOST_BYTES
    assert len([name for name in files if name.startswith("operators/")]) == 65
