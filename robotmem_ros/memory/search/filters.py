"""The condition `context_filter`: comparisons, joined by `$and`, `$or` and `$not`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .. import context_path, validation
from ..conditions.comparison import OPERATORS, OWN_FIELDS, Compare
from ..conditions.condition import And, Condition, Not, Or
from ..conditions.decay import Decay
from ..errors import InvalidFieldError
from ..text.normal_form import label_key, tag_key

_FIELD = "context_filter"
MAX_COMPARISONS, MAX_VALUES, MAX_DEPTH = 100, 1000, 8
"""Comparisons of a filter, values of an `$in`, and joins within joins, which SQLite reads within its own limits."""
JOINS = ("$and", "$or", "$not")
_ORDER_OPERATORS = ("$lt", "$lte", "$gt", "$gte")


def parse_filter(context_filter: object, decay: Decay, *, limit: int) -> And:
    """Parse a filter, of which all parts must hold.

    Raises:
        InvalidFieldError: it is no JSON object, a path is malformed, an operator unknown, or an operand unfit for it.
    """
    tree = validation.json_object(_FIELD, context_filter, limit=limit, example='{"task.success": true}')
    conditions = And(tuple(_parts(_FIELD, tree, decay)))
    if (depth := _depth(tree)) > MAX_DEPTH:
        problem = f"are nested too deeply; at most {MAX_DEPTH} of {', '.join(JOINS)} may stand within each other"
        raise InvalidFieldError(_FIELD, f"{depth} joins", problem)
    if (count := sum(1 for _ in conditions.leaves())) > MAX_COMPARISONS:
        problem = f"are too many; at most {MAX_COMPARISONS} are allowed, and $in compares with many values at once"
        raise InvalidFieldError(_FIELD, f"{count} comparisons", problem)
    return conditions


def _depth(value: object) -> int:
    if isinstance(value, Mapping):
        return max(((name in JOINS) + _depth(inner) for name, inner in value.items()), default=0)
    return max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _parts(field: str, filter_: Mapping[str, object], decay: Decay) -> Iterator[Condition]:
    for path, value in filter_.items():
        if path in JOINS:
            yield _join(f"{field}.{path}", path, value, decay)
            continue
        if path.startswith("$"):
            joins = ", ".join(JOINS)
            problem = (
                f"is an unknown operator; {joins} join filters, others follow a path, and a key that begins so stands "
                'in double quotes, such as "$set"'
            )
            raise InvalidFieldError(field, path, problem)
        context_path.check(field, path)
        if path.startswith("tags."):
            problem = (
                f"goes into the tags of a memory, which are a list; a key of that name in the context is context.{path}"
            )
            raise InvalidFieldError(field, path, problem)
        yield from _comparisons(f"{field}.{path}", path, value, decay)


def _join(field: str, operator: str, value: object, decay: Decay) -> Condition:
    filters = [value] if operator == "$not" else value
    if not isinstance(filters, list) or not filters or not all(isinstance(part, dict) and part for part in filters):
        shape = "a filter" if operator == "$not" else "a list of filters"
        raise InvalidFieldError(field, value, f"must be {shape}, each a JSON object with at least one condition")
    conditions = tuple(And(tuple(_parts(field, part, decay))) for part in filters)
    return Or(conditions) if operator == "$or" else And(conditions) if operator == "$and" else Not(conditions[0])


def _comparisons(field: str, path: str, value: object, decay: Decay) -> Iterator[Condition]:
    if not isinstance(value, dict):
        yield _comparison(field, path, "$eq", value, decay)
        return
    if not value:
        raise InvalidFieldError(field, value, f"needs an operator: {', '.join(OPERATORS)}")
    for operator, operand in value.items():
        if operator == "$not":
            if not isinstance(operand, dict):
                raise InvalidFieldError(
                    f"{field}.$not", operand, 'must be an operator with its value, as in {"$gt": 5}'
                )
            yield Not(And(tuple(_comparisons(f"{field}.$not", path, operand, decay))))
        else:
            yield _comparison(field, path, operator, operand, decay)


def _comparison(field: str, path: str, operator: str, operand: object, decay: Decay) -> Compare:
    if operator not in OPERATORS:
        raise InvalidFieldError(field, operator, f"is an unknown operator; there are {', '.join(OPERATORS)} and $not")
    location = field if operator == "$eq" else f"{field}.{operator}"
    if operator in _ORDER_OPERATORS and (isinstance(operand, bool) or not isinstance(operand, (int, float, str))):
        raise InvalidFieldError(location, operand, "must be a number or a text")
    if operator == "$prefix" and not isinstance(operand, str):
        raise InvalidFieldError(location, operand, "must be a text")
    if operator == "$exists" and not isinstance(operand, bool):
        raise InvalidFieldError(location, operand, "must be true or false")
    if operator == "$in" and (not isinstance(operand, list) or any(isinstance(item, (dict, list)) for item in operand)):
        raise InvalidFieldError(location, operand, "must be a list of numbers, texts, booleans or nulls")
    if isinstance(operand, list) and len(operand) > MAX_VALUES:
        raise InvalidFieldError(location, f"{len(operand)} values", f"are too many; give at most {MAX_VALUES}")
    if operator in ("$eq", "$ne") and isinstance(operand, dict):
        problem = "cannot be compared; compare a number, text, boolean, null or list, or name the path of a value in it"
        raise InvalidFieldError(location, operand, problem)
    _check_own(location, path, operator, operand)
    if path == "tags" and isinstance(operand, str):
        operand = tag_key(operand)
    return Compare(path, operator, _keyed(operand) if path == "label" else operand, decay)


def _check_own(location: str, path: str, operator: str, operand: object) -> None:
    if path not in OWN_FIELDS:
        return
    if OWN_FIELDS[path].kind is list:
        if operator not in ("$contains", "$exists") or (operator == "$contains" and not isinstance(operand, str)):
            other = ", or the fields `tags` and `any_tags`" if path == "tags" else ""
            problem = f'cannot be compared with {path}, a list; use {{"$contains": "a name"}}{other}'
            raise InvalidFieldError(location, operand, problem)
    elif operator == "$contains" or (operator in ("$eq", "$ne") and isinstance(operand, list)):
        raise InvalidFieldError(location, operand, f"cannot be compared: `{path}` of a memory is no list")


def _keyed(operand: object) -> object:
    if isinstance(operand, list):
        return [_keyed(item) for item in operand]
    return label_key(operand) if isinstance(operand, str) else operand
