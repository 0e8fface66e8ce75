"""tau-bench's retail tasks and tool schemas as JSON.

The benchmark keeps them in Python files. These are read as syntax trees, of which only literals are taken: nothing of
what was downloaded is run.
"""

from __future__ import annotations

import ast
from pathlib import Path

from planner_r1.errors import InputError

FIELDS = ("annotator", "user_id", "instruction", "actions", "outputs")


def read_tasks(path: Path) -> list[dict]:
    """The tasks of a `tasks_*.py`: objects with annotator, user_id, instruction, actions (name, kwargs) and outputs.

    Raises:
        InputError: the file is not a list of `Task(...)` made of literals.
    """
    lists = [node.value for node in ast.walk(_parse(path)) if isinstance(node, ast.Assign | ast.AnnAssign)]
    lists = [value for value in lists if isinstance(value, ast.List) and value.elts]
    if len(lists) != 1:
        raise InputError(f"{path}: one list of tasks expected, found {len(lists)}")
    tasks = [_value(path, element) for element in lists[0].elts]
    for task, element in zip(tasks, lists[0].elts, strict=True):
        if not isinstance(task, dict) or set(task) != set(FIELDS):
            raise InputError(f"{path}, line {element.lineno}: a Task with {', '.join(FIELDS)} expected")
    return [{name: task[name] for name in FIELDS} for task in tasks]


def read_tool(path: Path) -> dict:
    """The function schema that a tool's `get_info` returns.

    Raises:
        InputError: the file has no such method, or it does not return a literal.
    """
    for node in ast.walk(_parse(path)):
        if isinstance(node, ast.FunctionDef) and node.name == "get_info" and isinstance(node.body[-1], ast.Return):
            return _value(path, node.body[-1].value)
    raise InputError(f"{path}: no method get_info that returns a schema")


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as Python ({error})") from None


def _value(path: Path, node: ast.expr):
    """A literal; `Task(...)` and `Action(...)` as objects of their keywords."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Task", "Action"):
        return {keyword.arg: _value(path, keyword.value) for keyword in node.keywords}
    if isinstance(node, ast.List):
        return [_value(path, element) for element in node.elts]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise InputError(f"{path}, line {node.lineno}: a literal expected") from None
