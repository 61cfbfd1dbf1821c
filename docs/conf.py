"""Sphinx builds the site from these pages: ``make site``."""

import os
import re
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import linsep
from linsep.cli.app import COMMANDS
from linsep.lab import lab_file

#: Where the site is published, with a slash at its end. Links are relative as long as it is empty.
ADDRESS = ""
#: Which of the published versions this is.
VERSION = os.environ.get("SITE_VERSION", "dev").removeprefix("v")

project = "linsep"
author = "The linsep developers"
project_copyright = "The linsep developers"
version = release = linsep.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_templates", "reference/generated/names.rst"]
templates_path = ["_templates"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_dmath_allow_space = myst_dmath_allow_digits = False  # "$5 and 12 $" is text
myst_heading_anchors = 4
nb_execution_mode = "off"  # the tests run the pages

html_math_renderer = "mathml"  # what browsers typeset without a script or a font of others
smartquotes = False  # two hyphens begin an option

autosummary_generate = ["reference/generated/names.rst"]
#: The methods of estimators that users call. The others are for the modules of the package.
autosummary_context = {
    "called": {
        "fit", "partial_fit", "predict", "predict_proba", "predict_log_proba", "predictions",
        "decision_function", "score", "get_params", "set_params", "plot", "bounds", "separation",
        "summary", "tidy", "confidence_intervals", "odds_ratios", "marginal_effects", "diagnostics",
        "assumptions", "wald_test", "contrasts", "likelihood_ratio_tests", "score_test",
        "to_logistic",
    }
}  # fmt: skip
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"

html_theme = "pydata_sphinx_theme"
html_title = "linsep"
html_favicon = html_logo = "_static/linsep.svg"
html_baseurl = ADDRESS
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "linsep"},
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher", "version-switcher" if ADDRESS else "version"],
    "switcher": {"json_url": ADDRESS + "versions.json", "version_match": VERSION},
    "check_switcher": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "gallery/index": ["page-toc"]},
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "gallery/index": []}


def lab_of_the_site(app, error):
    """Put the lab into the site."""
    if error is None and app.builder.format == "html":
        folder = Path(app.outdir) / "lab"
        folder.mkdir(exist_ok=True)
        (folder / "index.html").write_text(lab_file(), "utf-8")


def pages_of_commands(app):
    """Write a page for each command, as autosummary does for each class."""
    folder = Path(app.srcdir) / "reference" / "generated" / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (module, _) in COMMANDS.items():
        page = f".. click:: linsep.cli.{module}:{name}\n   :prog: linsep {name}\n"
        (folder / f"{name}.rst").write_text(page, "utf-8")


#: a list of names of a module in the reference
NAMES = re.compile(r"^From `(\S+)`: (.*?)\.$", re.M | re.S)


def pages_of_names(app):
    """Write what autosummary makes the pages of the names of the reference from."""
    text = (Path(app.srcdir) / "reference" / "api.md").read_text("utf-8")
    names = [
        f"   {module}.{name}"
        for module, listed in NAMES.findall(text)
        for name in re.findall(r"`(.*?)`", listed)
    ]
    path = Path(app.srcdir) / "reference" / "generated" / "names.rst"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([".. autosummary::", "   :toctree: .", "", *names, ""]), "utf-8")


def reference_of_the_site(app, page, source):
    """Show names with their first lines, and link commands, whose pages are not in the clone."""
    head = "```{{eval-rst}}\n.. currentmodule:: {}\n\n.. autosummary::\n   :toctree: generated\n"
    if page == "reference/api":
        source[0] = NAMES.sub(
            lambda found: "\n   ".join(
                [head.format(found[1]) + "   :nosignatures:\n", *re.findall(r"`(.*?)`", found[2])]
            ) + "\n```",
            source[0],
        )  # fmt: skip
    elif page == "reference/command-line":
        row, link = r"^\| `(\w+)` \|", r"| {doc}`\1 <generated/commands/\1>` |"
        tree = "\n```{toctree}\n:hidden:\n:glob:\n\ngenerated/commands/*\n```\n"
        source[0] = re.sub(row, link, source[0], flags=re.M) + tree


def without_last_blank_line(app, tree):
    """Leave out the blank lines that end the blocks of doctest."""
    for block in tree.findall(nodes.literal_block):
        block.rawsource = block.astext().rstrip()
        block[:] = [nodes.Text(block.rawsource)]


def thumbnails(app, tree, name):
    """Begin the gallery with small pictures that lead to the large ones."""
    if name != "gallery/index":
        return
    small = nodes.container(classes=["thumbnails"])
    for image in [*tree.findall(nodes.image)]:
        word = Path(image["uri"]).stem
        place, title = f"picture-{word}", nodes.Text(word.replace("-", " "))
        image.parent.insert(0, nodes.target(ids=[place]))
        thumbnail = nodes.image(uri=image["uri"], candidates=image["candidates"], alt="")
        link = nodes.reference("", "", thumbnail, title, refuri=f"#{place}")
        small += nodes.paragraph("", "", link)
    section = next(tree.findall(nodes.section))
    section.insert(1, small)


def formula(self, node):
    """Write a formula as MathML."""
    block = isinstance(node, nodes.math_block)
    mathml = tex2mathml(node.astext(), as_block=block)
    self.body.append(f'<div class="formula">{mathml}</div>' if block else mathml)
    raise nodes.SkipNode


def setup(app):
    """Make what is not written."""
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.connect("builder-inited", pages_of_names, priority=400)  # before autosummary
    app.connect("builder-inited", pages_of_commands)
    app.connect("source-read", reference_of_the_site)
    app.connect("doctree-read", without_last_blank_line)
    app.connect("doctree-resolved", thumbnails)
    app.connect("build-finished", lab_of_the_site)
