import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from subsalt import report
from subsalt.error_texts import lookup
from subsalt.errors import MissingInputError
from subsalt.report.facts import png_facts
from subsalt.report.render import part, phase_rows, seconds, size, visible

VOID = {"img", "meta", "rect", "br"}
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202egnp.\x1b[31m</style></title></pre>"


class Page(HTMLParser):
    """Collects elements, texts and tables of a page, and checks that its elements nest."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.stack, self.text = [], [], []
        self.rows, self.cell = {}, None
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name == "section":
            self.section = dict(attributes)["id"]
        if name == "tr":
            self.rows.setdefault(getattr(self, "section", ""), []).append([])
        if name in ("td", "th"):
            self.cell = []
        if name not in VOID:
            self.stack.append(name)

    def handle_endtag(self, name):
        assert self.stack.pop() == name
        if name in ("td", "th"):
            self.rows[self.section][-1].append("".join(self.cell))
            self.cell = None

    def handle_data(self, data):
        if not self.stack or self.stack[-1] != "style":
            self.text.append(data)
            if self.cell is not None:
                self.cell.append(data)


def read(folder, **kwargs):
    path = report.write(folder, **kwargs)
    raw = path.read_text()
    return Page(raw), raw


def assert_nothing_is_loaded_or_run(page):
    for name, attributes in page.elements:
        assert name not in {
            "script",
            "iframe",
            "object",
            "embed",
            "link",
            "base",
            "form",
            "audio",
            "video",
            "source",
        }
        for key, value in attributes.items():
            assert not key.startswith("on"), (name, key)
            assert key not in ("style", "srcset", "action", "formaction", "srcdoc"), (name, key)
            if key == "src":
                assert value.startswith("data:image/png;base64,")
                assert base64.b64decode(value.split(",", 1)[1], validate=True).startswith(b"\x89PNG")
            if key == "href":
                assert value.startswith("#")
            assert "javascript:" not in str(value)


def test_the_page_stands_alone(run):
    page, raw = read(run)
    assert_nothing_is_loaded_or_run(page)
    assert "http:" not in raw
    assert "https:" not in raw
    assert "url(" not in raw
    assert "@import" not in raw
    assert len(raw) < 5_000_000
    policy = next(a["content"] for n, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    style = re.search(r"<style>(.*?)</style>", raw, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'")
    assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    # the policy comes before anything it is to hold for
    assert raw.index("Content-Security-Policy") < raw.index("<style>")


def test_it_tells_what_the_issue_asks_for(run):
    page, _ = read(run)
    text = "".join(page.text)
    for must in (
        "Salt line 7",
        "finished with holes",
        "4f6a" * 16,
        "121 x 81 x 91",
        "25 x 25 x 20 m",
        "1.82 ms",
        "11 of 12",
        "21 000 000 000",
        "262 MB",
        "412 MB",
        "W510",
        "use order 12",
        "propagation.source_taper",
        "ab" * 32,
        "cd" * 32,
        "01" * 32,
        "x86-64-v4",
        "fma",
        "shot 113: 3 traces",
        "subsalt migrate job.resolved.toml",
    ):
        assert must in text, must
    assert "found in order: 1" in text
    # the overview holds the three planes: they are named, not drawn again
    assert sum(n == "img" for n, _ in page.elements) == 2
    assert "pictures/image_inline.png" in text
    assert "subsalt view line7.run --open" in text


def test_state_picture_and_numbers_come_first_and_the_rest_is_folded(run):
    page, raw = read(run)
    order = [raw.index(text) for text in ("<h1>", '<section id="pictures"', '<section id="numbers"')]
    assert order == sorted(order)
    assert order[-1] < raw.index('<details class="section">')
    folded = re.findall(r'<details class="section"><summary>[^<]*</summary><section id="(\w+)"', raw)
    assert [s for s in page.rows if s not in folded] == ["parameters", "findings", "numbers"]
    # a second picture is folded too
    assert raw.index("<img") < raw.index("<details>") < raw.rindex("<img")


def test_codes_lead_to_their_texts_in_the_page(run):
    facts = json.loads((run / "run.json").read_text())
    facts["findings"].append({"code": "W233", "level": "warning", "message": "4 traces are zero", "fix": ""})
    (run / "run.json").write_text(json.dumps(facts))
    page, raw = read(run)
    entry = lookup("W233")
    assert any(n == "a" and a["href"] == "#W233" for n, a in page.elements)
    assert sum(a.get("id") == "W233" for _, a in page.elements) == 1
    text = "".join(page.text)
    assert f"W233: {entry.title}" in text
    assert entry.meaning in text
    assert entry.cure in text
    # what is in order needs no text, and a code without one is no link
    assert 'href="#I001"' not in raw
    assert 'href="#W510"' not in raw


def test_parameters_of_a_depth_migration_are_in_the_words_of_the_field(run):
    page, _ = read(run)
    rows = {name: (value, mark) for name, value, _, mark in page.rows["parameters"][1:]}
    assert rows["Medium"] == ("VTI", "default")
    assert rows["P velocity"] == ("model/vp.rsf", "default")
    assert rows["Wavelet"] == ("Ricker, peak frequency 18 Hz", "default")
    assert rows["Sides of the grid"][0] == "PML of 12 cells"
    assert rows["Top of the grid"][0] == "absorbing"
    assert rows["Migration aperture"][0] == "600 m"
    assert rows["Shots from"] == ("shots/*.sgy", "given")


def test_captions_do_not_repeat_the_title_of_the_run(run):
    _, raw = read(run)
    captions = re.findall(r"<figcaption>([^<]*)", raw)
    assert captions
    assert not [c for c in captions if c.startswith("Salt line 7")]


def test_phases_sum_to_wall(run):
    page, _ = read(run)
    rows = page.rows["phases"]
    end = [r[0] for r in rows].index("wall")
    values = {r[0]: float(r[1]) for r in rows[1 : end + 1]}
    wall = values.pop("wall")
    assert "unexplained" in values
    # thousandths of a second, as written: integers, so that the sum is exact
    assert sum(round(1000 * v) for v in values.values()) == round(1000 * wall)
    short = {r[0]: float(r[1]) for r in rows[end + 2 :]}
    together = values.pop(f"{len(short)} shorter phases")
    assert sum(round(1000 * v) for v in short.values()) == round(1000 * together)
    assert 0 < max(short.values()) < 0.005 * wall
    del values["unexplained"]
    assert min(values.values()) >= 0.005 * wall
    for some in (values, short):
        assert list(some.values()) == sorted(some.values(), reverse=True)


def test_phases_without_unexplained_get_the_row():
    rows, wall = phase_rows({"a": 1.0, "wall": 3.5, "bad": float("nan"), "text": "x"})
    assert rows == [("a", 1.0), ("unexplained", 2.5)]
    assert wall == 3.5
    assert phase_rows({"a": 1.0}) == ([("a", 1.0), ("unexplained", 0.0)], 1.0)


def test_keys_the_job_file_set_are_marked(run):
    page, _ = read(run)
    where = {r[0]: r[2] for r in page.rows["job"][1:]}
    assert where["source.f0"] == "given"
    assert where["propagation.order"] == "default"
    # what was given comes first
    marks = [r[2] for r in page.rows["job"] if r[2] in ("given", "default")]
    assert marks == sorted(marks, reverse=True)


@pytest.mark.parametrize("field", ["title", "run_id", "version", "state"])
def test_markup_in_names_is_escaped(run, field):
    facts = json.loads((run / "run.json").read_text())
    facts[field] = EVIL
    (run / "run.json").write_text(json.dumps(facts))
    page, raw = read(run)
    assert_nothing_is_loaded_or_run(page)
    assert "\u202e" not in raw
    assert "\x1b" not in raw
    assert "<script>alert(1)</script>" in "".join(page.text)


def test_markup_anywhere_in_the_facts_is_escaped(run):
    def poison(value):
        if isinstance(value, dict):
            return {
                EVIL + k if k in ("files", "order", "output", "wavefields") else k: poison(v)
                for k, v in value.items()
            }
        if isinstance(value, list):
            return [poison(v) for v in value]
        return value + EVIL if isinstance(value, str) and value not in ("done", "warning") else value

    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(poison(facts)))
    (run / "job.resolved.toml").write_text("# " + EVIL)
    (run / "events.jsonl").write_text(json.dumps({"event": EVIL, EVIL: EVIL}) + "\n")
    page, raw = read(run)
    assert_nothing_is_loaded_or_run(page)
    assert "\u202e" not in raw
    assert "<script" not in raw
    n = sum(name == "style" for name, _ in page.elements)
    assert n == 1


def test_a_stopped_run_has_a_report(stopped):
    before = sorted(p.name for p in stopped.iterdir())
    page, _ = read(stopped)
    text = "".join(page.text)
    for must in (
        "not finished: 2 of 3 shots done",
        "77" * 32,
        "aa" * 32,
        "running",
        "Salt line 7",
        "ef" * 32,
        "fma",
    ):
        assert must in text, must
    assert "phases" not in page.rows
    assert {p.name for p in stopped.iterdir()} - set(before) == {"report.html"}


def test_measured_memory_is_compared_with_a_plan_of_the_whole_rank(tmp_path, facts):
    facts["memory_plan"] = {"program": 72_000_000, "wavefields": 328_000_000}
    (tmp_path / "run.json").write_text(json.dumps(facts))
    _, page = read(tmp_path)
    assert "400 MB" in page
    assert "largest memory of a rank, measured, 103% of the plan" in page


@pytest.mark.parametrize(
    "key",
    [
        "job",
        "grid",
        "phases",
        "shots",
        "findings",
        "image",
        "inputs",
        "numerics",
        "code",
        "machine",
        "memory_plan",
        "run_id",
        "title",
        "dt",
        "job_given",
    ],
)
def test_missing_and_odd_facts_are_tolerated(tmp_path, facts, key):
    del facts[key]
    for odd in (
        {},
        *({key: v} for v in (None, "a text", 7, [], {}, [1, None, {}], {"a": None, "wall": "x"})),
    ):
        (tmp_path / "run.json").write_text(json.dumps(facts | odd))
        read(tmp_path)


def test_nothing_but_an_empty_object_is_enough(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    page, _ = read(tmp_path)
    assert "no pictures" in "".join(page.text)


def test_damaged_files_are_named_in_the_report(run):
    (run / "run.json").write_text('{"title": "cut')
    (run / "ledger.sqlite").write_bytes(b"no database at all")
    (run / "pictures" / "image.png").write_bytes((run / "pictures" / "image.png").read_bytes()[:-20])
    (run / "pictures" / "evil.png").write_text("<svg onload=alert(1)>")
    (run / "pictures" / "link.png").symlink_to(run / "run.json")
    page, _ = read(run)
    text = "".join(page.text)
    for name in (
        "run.json cannot be read",
        "ledger.sqlite cannot be read",
        "image.png is left out",
        "evil.png is left out",
        "link.png is left out",
    ):
        assert name in text, name
    assert_nothing_is_loaded_or_run(page)


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(MissingInputError, match="holds no run"):
        report.write(tmp_path)
    with pytest.raises(MissingInputError, match="no run directory"):
        report.write(tmp_path / "absent")
    assert list(tmp_path.iterdir()) == []


def test_same_facts_same_bytes_and_another_place(run, tmp_path):
    a = report.write(run, tmp_path / "a.html").read_bytes()
    assert report.write(run, tmp_path / "b.html").read_bytes() == a
    assert not (run / "report.html").exists()


def test_many_shots_are_folded(run):
    facts = json.loads((run / "run.json").read_text())
    facts["shots"] = [{"id": i, "state": "done", "seconds": 1.0, "sha256": "a"} for i in range(3000)]
    (run / "run.json").write_text(json.dumps(facts))
    page, _ = read(run)
    assert "all 3000 shots" in "".join(page.text)


def test_templates_escape_what_they_insert():
    columns = [("<&>", ""), ('"x"', "code"), ("n", "number")]
    table = part("parts.html", "table", columns, [("<b>", "'&'", None)])
    for must in (
        '<th scope="col">&lt;&amp;&gt;</th>',
        "&#34;x&#34;",
        "<td>&lt;b&gt;</td>",
        "&#39;&amp;&#39;",
    ):
        assert must in table, must
    assert '<td class="number"></td>' in table
    assert visible("ä\n\u2066\x00\udc80\u2028") == "ä\n\\u2066\\u0000\\udc80\\u2028"
    assert 'width="100.00"' in part("parts.html", "bar", 3.0)
    assert 'width="0.00"' in part("parts.html", "bar", -1.0)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0 s"), (1.234, "1.23 s"), (125, "2 min 05 s"), (3720, "1 h 02 min"), (None, "unknown")],
)
def test_seconds(value, shown):
    assert seconds(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(12, "12 B"), (1234, "1.23 kB"), (4.12e8, "412 MB"), ("x", "unknown")]
)
def test_size(value, shown):
    assert size(value) == shown


def test_png_facts_refuse_what_is_cut_or_changed(pictures):
    data = (pictures / "image.png").read_bytes()
    texts, (width, height) = png_facts(data)
    assert texts["Run"] == "4f6a" * 16
    assert width > 300
    assert height > 300
    assert png_facts(data[:-1]) is None
    assert png_facts(b"") is None
    changed = bytearray(data)
    changed[len(data) // 2] ^= 1
    assert png_facts(bytes(changed)) is None
