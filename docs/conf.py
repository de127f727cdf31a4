"""Settings of the documentation site; `docs/site/build.py` gathers the pages and runs Sphinx with them."""

import re

import subsalt
from subsalt.error_texts import entries

project = "subsalt"
author = "the subsalt developers"
version = release = subsalt.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "sphinx_design"]
root_doc = "index"
#: the page whose rows the codes on other pages lead to
ERRORS = "reference/errors"

# pages are Markdown; a link to a heading is its text in lower case with hyphens, as on code hosts
myst_enable_extensions = ["attrs_inline", "deflist", "colon_fence"]
myst_heading_anchors = 5
smartquotes = False  # "--help" in a cell of a table stays two hyphens
suppress_warnings = ["misc.highlighting_failure"]  # a snippet may leave out what does not matter: "..."

# the reference of the Python interface, from the docstrings
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings name the types
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
toc_object_entries_show_parents = "hide"  # the contents beside a page have no room for the names of classes

# nothing is fetched from a network, neither when the site is built nor when a page is read
html_theme = "pydata_sphinx_theme"
html_title = f"subsalt {release}"
html_last_updated_fmt = "%Y-%m-%d"
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_js_files = ["codes.js"]
html_theme_options = {
    "logo": {"text": f"subsalt {release}"},
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "article_footer_items": ["last-updated"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
}
html_sidebars = {"index": [], "install": []}  # pages that head no other page
html_context = {"default_mode": "auto"}
copyright = "the subsalt developers, Apache License 2.0"


def keep_case_of_codes(app, doctree):
    """Give the anchors of codes their capital letter too: errors.html#E531 beside the #e531 that docutils makes."""
    from docutils import nodes

    for node in doctree.findall(nodes.Element):
        codes = [name for name in node.get("ids", ()) if re.fullmatch(r"[ew]\d{3}", name)]
        node["ids"] = [*node.get("ids", ()), *(code.upper() for code in codes)]


def link_codes(app, doctree, docname):
    """Make each code in the text of a page a link to its row: E531 leads to errors.html#E531."""
    from docutils import nodes

    if docname == ERRORS:
        return
    codes = re.compile(rf"\b({'|'.join(entries())})\b")
    for text in [node for node in doctree.findall(nodes.Text) if codes.search(node)]:
        above = text.parent
        if isinstance(above, nodes.literal) and codes.fullmatch(text):
            text, above = above, above.parent
        elif isinstance(above, (nodes.literal, nodes.literal_block)):
            continue
        if isinstance(above, (nodes.reference, nodes.title)):
            continue
        made = []
        for part in codes.split(text.astext()):
            shown = nodes.literal("", part) if isinstance(text, nodes.literal) else nodes.Text(part)
            if codes.fullmatch(part):
                address = f"{app.builder.get_relative_uri(docname, ERRORS)}#{part}"
                shown = nodes.reference("", "", shown, internal=True, refuri=address)
            made.append(shown)
        above.replace(text, [node for node in made if node.astext()])


def setup(app):
    """Register what changes the pages after they are read."""
    app.connect("doctree-read", keep_case_of_codes)
    app.connect("doctree-resolved", link_codes)
