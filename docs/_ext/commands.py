"""A page of every command with its options, written from the program itself."""

from pathlib import Path

PAGE = Path(__file__).parents[1] / "api" / "generated" / "commands.md"
HEAD = """\
# Commands

What `skstretch --help` and the help of every command say, written from the program when the site
is built. [The command line](../../cli.md) explains them with examples.
"""


def option_row(parameter):
    """One line of the table of options."""
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = f"`{parameter.metavar or parameter.name.upper()}`"
    value = parameter.metavar if parameter.param_type_name == "option" else ""
    text = (parameter.help or "").replace("|", r"\|").replace("\n", " ")
    if parameter.required:
        text += " Required."
    shown = f"`{value}`".replace("|", r"\|") if value else ""
    return f"| {names} | {shown} | {text.strip()} |"


def section(name, command):
    """Markdown for one command."""
    rows = [option_row(p) for p in command.params if not getattr(p, "hidden", False)]
    examples = [line.strip() for line in (command.epilog or "").splitlines() if line.strip()]
    return "\n".join(
        [
            f"\n## skstretch {name}\n",
            command.help.strip() + "\n",
            "| argument | value | meaning |\n|---|---|---|",
            *rows,
            "\n```sh",
            *(line for line in examples if line.startswith("skstretch")),
            "```\n",
        ]
    )


def write_page(app):
    """Write the page; untouched where nothing changed, so that Sphinx need not read it again."""
    from typer.main import get_command

    from skstretch.cli.app import program

    text = HEAD + "".join(section(*item) for item in get_command(program()).commands.items())
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    if not PAGE.exists() or PAGE.read_text("utf-8") != text:
        PAGE.write_text(text, "utf-8")


def setup(app):
    app.connect("builder-inited", write_page)
    return {"parallel_read_safe": True}
