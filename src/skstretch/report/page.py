"""The page: template, data and scripts in one file that may ask for nothing."""

import base64
import functools
import hashlib
import json
import re
from importlib import resources
from typing import Any

import altair
import jinja2
import vl_convert
from markupsafe import Markup


def render(context: dict[str, Any], data: dict[str, Any]) -> str:
    """One HTML text.

    All of `context` is escaped by the template; `data` is JSON without a single ``<``, so that
    nothing in it can end the element that holds it. The content security policy allows the two
    scripts and the style sheet by their hashes, and no request, no evaluation of strings, no form.
    """
    style, library, script = _file("page.css"), _library(), _file("page.js")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src {_hash(library)} {_hash(script)}; style-src {_hash(style)}"
    )
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        **context,
        policy=policy,
        style=Markup(style),
        library=Markup(library),
        script=Markup(script),
        data=Markup(script_json(data)),
    )


def script_json(data: Any) -> str:
    """JSON in ASCII that is safe inside a script element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _file(name: str) -> str:
    return (resources.files("skstretch.report") / "template" / name).read_text("utf-8")


@functools.cache
def _library() -> str:
    """Vega, Vega-Lite and Vega-Embed, in the version that altair writes for."""
    version = "_".join(altair.SCHEMA_VERSION.split(".")[:2])
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    # in a function, so that its thousands of names stay out of the page's
    closed = re.sub(r"<(?=/script|!--)", r"\\x3c", bundle, flags=re.IGNORECASE)
    return "(()=>{" + closed + "\n})();"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
