"""Settings as dataclasses that load from YAML, print as YAML and check themselves."""

import dataclasses
import math
import os
import types
import typing
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, Self, Union

import yaml

from i2gnn.errors import InputError

__all__ = ["Settings", "different_settings", "flatten", "option"]


def option(
    default: Any,
    about: str,
    *,
    minimum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    choices: tuple[str, ...] | None = None,
) -> Any:
    """Declares one setting.

    Args:
        default: Its value unless given; a class of `Settings` makes a nested section.
        about: One line, printed as a comment beside it.
        minimum: Smallest legal number.
        above: Number that the value must exceed.
        below: Number that the value must stay under.
        choices: Texts of which the value must be one, where they are known only at run time.
    """
    limits = {"minimum": minimum, "above": above, "below": below, "choices": choices}
    metadata = {"about": about, **limits}
    if isinstance(default, type):
        return dataclasses.field(default_factory=default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of all sections: every field is declared by `option`.

    Legal types are bool, int, float, str, Literal, tuple[X, ...], X | None, other sections, and
    dict[str, Any] for values that are checked elsewhere.
    A wrong type or value raises an InputError that names the setting.
    """

    def __post_init__(self) -> None:
        for field, hint in self._fields():
            _checked(getattr(self, field.name), field, hint, f"{type(self).__name__}.{field.name}")

    @classmethod
    def _fields(cls) -> list[tuple[dataclasses.Field[Any], Any]]:
        hints = typing.get_type_hints(cls)
        return [(field, hints[field.name]) for field in dataclasses.fields(cls)]

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a YAML file; settings that it does not mention keep their defaults."""
        path = Path(path)
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected a YAML configuration")
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: not YAML ({error})") from error
        return cls.from_dict({} if content is None else content, where=f"{path}: ")

    @classmethod
    def from_dict(cls, values: Any, where: str = "", section: str = "") -> Self:
        """Builds the settings from nested mappings; `where` begins every error message."""
        if not isinstance(values, Mapping):
            shown = section.rstrip(".") or "the document"
            raise InputError(f"{where}{shown} is {values!r}; expected a mapping of settings")
        fields = {field.name: (field, hint) for field, hint in cls._fields()}
        for key in values:
            if key not in fields:
                known = ", ".join(fields)
                raise InputError(f"{where}unknown key {section}{key}; expected one of {known}")
        made: dict[str, Any] = {}
        for key, value in values.items():
            field, hint = fields[key]
            if isinstance(hint, type) and issubclass(hint, Settings):
                made[key] = hint.from_dict(value, where, f"{section}{key}.")
            else:
                made[key] = _checked(_read(value, hint), field, hint, f"{where}{section}{key}")
        return cls(**made)

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values, as `from_dict` takes and JSON and YAML hold."""
        values = ((field.name, getattr(self, field.name)) for field, _ in self._fields())
        return {
            name: value.to_dict()
            if isinstance(value, Settings)
            else list(value)
            if isinstance(value, tuple)
            else value
            for name, value in values
        }

    def to_yaml(self, indent: str = "") -> str:
        """The settings as YAML, one line each with what it means; `from_yaml` reads it back."""
        lines = []
        for field, _ in self._fields():
            value, about = getattr(self, field.name), field.metadata["about"]
            if isinstance(value, Settings):
                lines.append(f"{indent}{field.name}:  # {about}\n{value.to_yaml(indent + '  ')}")
                continue
            plain = list(value) if isinstance(value, tuple) else value
            shown = yaml.safe_dump(plain, default_flow_style=True, width=10**6).split("\n")[0]
            lines.append(f"{indent}{field.name}: {shown}  # {about}\n")
        return "".join(lines)


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as {"section.key": value}.

    Example:
        >>> flatten({"a": 1, "b": {"c": 2}})
        {'a': 1, 'b.c': 2}
    """
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def different_settings(
    before: Mapping[str, Any], now: Mapping[str, Any], free: Collection[str]
) -> list[str]:
    """What differs between two nested settings, in words; `free` may.

    Example:
        >>> different_settings({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}, "d": 4}, free={"d"})
        ['a.b (was 1, is 3)', "a.c (was 2, is 'absent')"]
    """
    old, new = flatten(before), flatten(now)
    return [
        f"{key} (was {old.get(key, 'absent')!r}, is {new.get(key, 'absent')!r})"
        for key in sorted(old.keys() | new.keys())
        if key not in free and old.get(key) != new.get(key)
    ]


def _read(value: Any, hint: Any) -> Any:
    """Undoes what YAML cannot express: tuples, and numbers such as 1e-3, which it reads as text."""
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, str) and float in (hint, *typing.get_args(hint)):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _checked(value: Any, field: dataclasses.Field[Any], hint: Any, name: str) -> Any:
    if not _fits(value, hint):
        raise InputError(f"{name} is {value!r}; expected {_describe(hint)}")
    choices = field.metadata["choices"]
    if choices is not None and value not in choices:
        raise InputError(f"{name} is {value!r}; expected one of {', '.join(choices)}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        minimum, above, below = (field.metadata[key] for key in ("minimum", "above", "below"))
        if minimum is not None and value < minimum:
            raise InputError(f"{name} is {value}; expected at least {minimum}")
        if above is not None and value <= above:
            raise InputError(f"{name} is {value}; expected more than {above}")
        if below is not None and value >= below:
            raise InputError(f"{name} is {value}; expected less than {below}")
    return value


def _fits(value: Any, hint: Any) -> bool:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, choice) for choice in arguments)
    if origin is Literal:
        return value in arguments and type(value) in {type(choice) for choice in arguments}
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, arguments[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(isinstance(key, str) for key in value)
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is hint


def _describe(hint: Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_describe(choice) for choice in arguments)
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin is tuple:
        return f"a list, each item {_describe(arguments[0])}"
    if origin is dict:
        return "a mapping"
    names = {bool: "true or false", int: "an integer", float: "a number", str: "text"}
    return "null" if hint is type(None) else names.get(hint, getattr(hint, "__name__", str(hint)))
