"""Small budgets, so that small data are as costly as large ones are."""

from skstretch.solve import choose


def quick_up_to(monkeypatch, side):
    """Systems of a larger side take longer to factorise than the budget allows."""
    monkeypatch.setattr(choose, "RATE", 2.0 * side**3 / choose.BUDGET.seconds)
