"""The options that say what a search tries and how it chooses."""

from typing import Annotated, Any

import typer

from skstretch.cli.options import Command, PenaltyFactor, RuleName, taking

Folds = Annotated[
    str | None,
    typer.Option(
        metavar="loo|N",
        help="Leave one out, or N folds. Default: loo, or 10 where features are selected.",
    ),
]

Powers = Annotated[
    str | None, typer.Option("--k", metavar="LIST", help="Stretching powers to try, say 1.1,2.")
]

Strengths = Annotated[
    str | None,
    typer.Option("--c", metavar="LIST", help="Strengths to try, or auto (default)."),
]

Transforms = Annotated[
    str | None,
    typer.Option("--a", metavar="LIST", help="Transforms exp(a z) to try; 0 is linear."),
]

Density = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="Shares of features to keep, say 0.1,1. By default all, and a mix also tries 30 "
        "and 100 features.",
    ),
]

Keep = Annotated[
    str | None, typer.Option(metavar="N", help="Numbers of features to keep, say 20 or 20,100.")
]

Rule = Annotated[
    RuleName,
    typer.Option(
        help="mix: a weighted mean of the best cells of all families; guarded: the best linear "
        "cell unless clearly beaten; best: the least error; 1se: the simplest within one "
        "standard error of the best."
    ),
]


def read_plan(
    cv: Folds = None,
    k: Powers = None,
    c: Strengths = None,
    a: Transforms = None,
    density: Density = None,
    keep: Keep = None,
    rule: Rule = RuleName.MIX,
    penalty_factor: PenaltyFactor = None,
) -> Any:
    """The plan that the options ask for; refuses what no data could follow."""
    from dataclasses import replace

    from skstretch.cli.learning import Plan, named_factors

    plan = Plan.read(cv, k, c, a, density, keep, rule)
    return replace(plan, factors=named_factors(penalty_factor))


def takes_plan(command: Command) -> Command:
    """Give a command the options of `read_plan` in place of its argument `plan`."""
    return taking(command, "plan", read_plan)
