"""The three kinds of intercept."""

from enum import Enum


class Intercept(Enum):
    """Free (not penalised), the paper's column of ones (stretched and penalised), or none."""

    FREE = "free"
    COLUMN = "column"
    NONE = "none"

    @classmethod
    def of(cls, fit_intercept: object) -> "Intercept":
        """The kind that an estimator's ``fit_intercept`` stands for."""
        if isinstance(fit_intercept, str):
            if fit_intercept == "column":
                return cls.COLUMN
        elif fit_intercept in (True, False):
            return cls.FREE if fit_intercept else cls.NONE
        raise ValueError(
            f"fit_intercept={fit_intercept!r} is not known: use True (free, not penalised), "
            '"column" (a penalised column of ones, as in the paper) or False.'
        )
