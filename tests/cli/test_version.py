"""`skstretch version`, the help pages, and the program without its extra."""

import json
import subprocess
import sys
from importlib import metadata

import pytest

import skstretch
from skstretch.cli.app import COMMANDS
from tests.cli.program import environment, run


def test_real_program(folder):
    done = run("version", "--json", cwd=folder)
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert found["skstretch"] == skstretch.__version__
    assert found["numpy"] == metadata.version("numpy")
    assert found["python"] == sys.version.split()[0]


def test_page_and_option(call):
    assert skstretch.__version__ in call("version").out.splitlines()[0]
    assert call("--version").out == f"{skstretch.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(call, command):
    done = call(command, "--help")
    assert done.code == 0
    assert "Examples:" in done.out
    for line in COMMANDS[command][1]:
        assert line.split()[1] == command or "|" in line
        assert line[:50] in done.out


def test_examples_use_options_that_exist(call):
    for command, (_, examples) in COMMANDS.items():
        page = call(command, "--help").out
        for line in examples:
            for word in line.split("skstretch ", 1)[1].split():
                if word.startswith("--"):
                    assert word in page, f"{line}: {word}"


def test_the_first_page_lists_all_commands(call):
    done = call("--help")
    assert done.code == 0
    assert all(f"│ {name} " in done.out for name in COMMANDS)
    assert "skstretch fit train.csv --target y -o model.stretchy" in done.out


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(words):
    code = (
        "import sys\nfrom skstretch.cli import main\nsys.argv[0] = 'skstretch'\ntry:\n    main()\n"
        "except SystemExit:\n    print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, env=environment()
    )
    loaded = done.stdout.splitlines()[-1].split()
    assert "skstretch.cli.app" in loaded
    heavy = {"numpy", "scipy", "sklearn", "pyarrow", "rich.progress"}
    assert not heavy & {*loaded}


@pytest.mark.parametrize("words", [(), *((command,) for command in COMMANDS)])
def test_help_names_no_type_where_an_option_takes_no_value(call, words):
    page = call(*words, "--help").out
    assert "--help" in page
    assert "<bool>" not in page
    assert "BOOLEAN" not in page


def test_unknown_commands_and_options(call):
    done = call("fitt")
    assert done.code == 2
    assert "No such command 'fitt'" in done.err
    done = call("fit", "x.csv", "--tagret", "y", "-o", "m")
    assert done.code == 2
    assert "No such option" in done.err
    assert done.out == ""


def test_completion_knows_the_columns(call, monkeypatch):
    monkeypatch.setenv("_SKSTRETCH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "skstretch fit diabetes.csv --target prog")
    monkeypatch.setenv("COMP_CWORD", "4")
    assert call().out.split() == ["progression"]


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_the_extra(package):
    code = f"import sys; sys.modules[{package!r}] = None; from skstretch.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "fit"], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"error: the command line needs {package}: pip install 'skstretch[cli]'\n"
    )
