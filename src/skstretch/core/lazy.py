"""Attributes that are computed when they are first asked for."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801 - the name of its elder brother
    """`functools.cached_property` without a lock.

    Before Python 3.12 that one lets a single thread at a time compute an attribute, of all objects
    of a class: threads that invert matrices would wait for each other. Here two threads that ask
    one object at once both compute, and get the same.
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self.make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "cached_property[Value]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object, owner: type) -> "cached_property[Value] | Value":
        if instance is None:
            return self
        # a frozen object has a __dict__ too, and what stands there is found before this is asked
        value = instance.__dict__[self.name] = self.make(instance)
        return value
