"""The site has every public name, command, key and page; where Sphinx is installed it is built without a warning."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import subsalt
from subsalt import error_texts
from thorough import ALL

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"


@pytest.fixture
def site(monkeypatch):
    """Return a function that imports a module of docs/site."""
    monkeypatch.syspath_prepend(SITE)
    return importlib.import_module


def test_every_public_name_stands_in_one_group(site):
    api = site("api_pages")
    listed = [name for group in api.GROUPS for name in group.names.get("subsalt", ())]
    assert sorted(listed) == sorted(set(subsalt.__all__) - {"__version__"})


def test_every_command_has_a_page_with_its_options(site):
    made = site("command_pages").pages()
    migrate = made["reference/options/migrate.md"]
    assert "`--recompute`" in migrate
    assert "$ subsalt migrate" in migrate
    assert {"scan", "init", "check", "view"} <= {Path(name).stem for name in made}


def test_every_table_of_both_methods_has_a_page_with_its_keys(site):
    made = site("job_pages").pages()
    assert {"data", "kirchhoff-data", "imaging", "kirchhoff-velocity", "signal"} <= {
        Path(name).stem for name in made
    }
    assert "[`aperture`]{#imaging-aperture}" in made["reference/keys/imaging.md"]


def test_every_page_of_the_documentation_is_in_the_navigation():
    navigation = tomllib.loads((SITE / "navigation.toml").read_text(encoding="utf-8"))
    listed = [
        page for heading in navigation["heading"] for page in heading.get("pages", [heading.get("page")])
    ]
    listed += [f"notes/{p.stem}" for p in (ROOT / "docs" / "notes").glob("*.md")]
    pages = [p.relative_to(ROOT / "docs").with_suffix("").as_posix() for p in (ROOT / "docs").rglob("*.md")]
    assert not set(pages) - {"index", *listed}
    assert len(listed) == len(set(listed))


def test_a_heading_has_the_section_of_the_home_page_and_its_pages_under_captions(site):
    build = site("build")
    navigation = tomllib.loads((SITE / "navigation.toml").read_text(encoding="utf-8"))
    made = build.headings(navigation, (ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    howto = made["howto/index"]
    assert "[Get example data](../howto/data.md)" in howto
    captions = re.findall(r":caption: (.*)\n/(.*)", howto)
    assert captions == [(v, k) for k, v in navigation["heading"][2]["captions"].items()]
    # the pages of the home page are seen from its own folder
    assert "[Performance](performance.md)" in made["project"]
    assert "[Keys of the job file](../reference/keys/index.md)" in made["reference/index"]


def test_defaults_are_code_where_they_are_values_and_words_where_they_describe(site):
    pages = site("command_pages")
    assert pages.said("9") == pages.said("(9)") == "`9`"
    assert pages.said("(a free one)") == "a free one"
    assert pages.forms("--port <int range>") == "`--port` N"


def test_pictures_and_pages_of_the_gallery_exist(site):
    for example in site("gallery").SHOWN:
        for path in (
            ROOT / "examples" / example.file,
            ROOT / "docs" / example.picture,
            ROOT / "docs" / example.page,
        ):
            assert path.exists()


@pytest.fixture
def built_site(tmp_path):
    """Return the folder of the site: all of it without a warning in ``make test-all``, otherwise three of its pages.

    `make docs` builds all of it too.
    """
    if any(
        importlib.util.find_spec(name) is None for name in ("sphinx", "myst_parser", "pydata_sphinx_theme")
    ):
        pytest.skip("the extra docs is not installed")
    words = [SITE / "build.py", tmp_path]
    if not ALL:
        source = tmp_path / "source"
        for page in ("reference/errors.md", "howto/faq.md"):
            (source / page).parent.mkdir(parents=True)
            shutil.copyfile(ROOT / "docs" / page, source / page)
        (source / "index.md").write_text("# Pages\n\n```{toctree}\nreference/errors\nhowto/faq\n```\n")
        # pages that are not there are named in warnings
        words = ["-m", "sphinx", "-Q", "-b", "html", "-c", ROOT / "docs", source, tmp_path]
    built = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return tmp_path


@pytest.mark.slow
def test_the_site_is_built_and_codes_have_anchors(built_site):
    tmp_path = built_site
    assert 'id="E531"' in (tmp_path / "reference" / "errors.html").read_text(encoding="utf-8")
    # codes in the text of a page lead there; those in its code and its links stay
    faq = (tmp_path / "howto" / "faq.html").read_text(encoding="utf-8")
    assert '<a class="reference internal" href="../reference/errors.html#E531">E531</a>' in faq
    for path in tmp_path.rglob("*.html"):
        linked = re.findall(r'errors\.html#([EW]\d{3})"', path.read_text(encoding="utf-8"))
        assert set(linked) <= set(error_texts.entries())
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert subsalt.__version__ in page
    assert not [part for part in page.split('src="')[1:] if part.startswith("http")], "fetched from a network"
