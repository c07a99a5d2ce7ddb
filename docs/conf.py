"""The site: `make docs` builds it into build/site, without asking the network for anything."""

import functools
import importlib
import importlib.util
import inspect
import os
import shutil
import sys
import warnings
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
# One thread for each product: examples are small, and their times are printed.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["MPLBACKEND"] = "Agg"

import skstretch  # noqa: E402  after the settings that it would read too late

project = "skstretch"
author = "The skstretch developers"
copyright = "the skstretch developers, BSD-3-Clause"
version = release = skstretch.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "commands",
    "decisions",
    "names",
    "standings",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = [
    "_ext",
    "gallery/**/GALLERY_HEADER.rst",
    *(f"api/generated/{name}.md" for name in ("standings", "searches", "decisions")),
]
templates_path = ["_templates"]
default_role = "py:obj"  # a name in backticks leads to its page where it has one
smartquotes = False
toc_object_entries_show_parents = "hide"
today_fmt = "%Y-%m-%d"

# Markdown: the pages are read on the site and as they lie in the repository.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_block", "attrs_inline"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]  # functions in the configuration cannot be compared

# The reference: docstrings in numpydoc's form, one page a class or function.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_use_plots = False


def own_methods(fullname):
    """Public methods of a class that are written here, in the order of the alphabet."""
    module, _, name = fullname.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    found = [
        method
        for method in dir(cls)
        if not method.startswith("_") and callable(getattr(cls, method, None))
    ]
    here = "skstretch."
    return [m for m in found if getattr(getattr(cls, m), "__module__", "").startswith(here)]


def own_properties(fullname):
    """Public properties of a class that are written here and described, in the same order."""
    module, _, name = fullname.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    found = {member: inspect.getattr_static(cls, member) for member in dir(cls)}
    getters = {
        member: getattr(value, "fget", None) or getattr(value, "func", None)
        for member, value in found.items()
        if isinstance(value, property | functools.cached_property) and member[0] != "_"
    }
    ours = {m: f for m, f in getters.items() if f.__module__.startswith("skstretch.")}
    return [member for member, getter in ours.items() if getter.__doc__]


autosummary_context = {"own_methods": own_methods, "own_properties": own_properties}

# Mathematics: MathJax from a package, copied beside the pages.
mathjax_path = "mathjax/tex-chtml.js"

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

# The gallery: every example runs when the site is built.
warnings.filterwarnings("ignore", message=".*Matplotlib is currently using agg.*")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"demo\.py|container",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "reset_modules": ("matplotlib", "processor.note_seconds"),
    "reset_modules_order": "both",
    "show_signature": False,
    "min_reported_time": 0,
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
    "doc_module": ("skstretch",),
    "reference_url": {"skstretch": None},
    "backreferences_dir": "api/generated/used",
    "inspect_global_variables": True,
    "capture_repr": ("_repr_html_",),  # figures and printed lines alone
}

html_theme = "pydata_sphinx_theme"
html_title = f"skstretch {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("from_file.js", {"priority": 50})]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "skstretch"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "show_nav_level": 2,
}
# A site that will lie beside those of other versions (tools/site.py) has a list of them.
if address := os.environ.get("SKSTRETCH_SITE"):
    listed = f"{address.rstrip('/')}/switcher.json"
    html_theme_options |= {
        "switcher": {"json_url": listed, "version_match": release},
        "check_switcher": False,  # the list comes with the first release
        "navbar_end": ["version-switcher", "theme-switcher"],
    }
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}


def copy_mathjax(app):
    """Put MathJax and its fonts where the pages look for them: about 2 MB."""
    home = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
    source, target = home / "static" / "mathjax", Path(app.outdir) / "_static" / "mathjax"
    fonts = Path("output", "chtml", "fonts", "woff-v2")
    shutil.copytree(source / fonts, target / fonts, dirs_exist_ok=True)
    shutil.copy(source / "tex-chtml.js", target)


def pack_library(app):
    """Put the sources of the library beside the page that runs them in a browser."""
    home = Path(skstretch.__file__).parent
    target = Path(app.outdir) / "_static" / "skstretch.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(home.rglob("*.py")):
            archive.write(path, path.relative_to(home.parent))


def write_example_report(app):
    """A report to look at, of generated spectra; made once for a folder of the site."""
    target = Path(app.outdir) / "_static" / "example-report.html"
    if target.exists():
        return
    from pandas import DataFrame

    from skstretch.datasets import make_spectra
    from skstretch.report import write_report

    spectra = make_spectra()
    X = DataFrame(spectra.data, columns=spectra.feature_names)
    model = skstretch.StretchyRegressorCV().fit(X, spectra.target)
    facts = {"source": "generated spectra", "target": "concentration"}
    write_report(model, target, X=X, y=spectra.target, **facts)


def finish(app, error):
    """What the pages need beside themselves."""
    if error is None and app.builder.format == "html":
        copy_mathjax(app)
        pack_library(app)
        write_example_report(app)


def setup(app):
    app.connect("build-finished", finish)
