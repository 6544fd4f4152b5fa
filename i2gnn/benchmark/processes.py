"""Work in a process of its own: memory that nothing else has touched, errors that spoil nothing."""

import multiprocessing
import os
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["in_new_process"]


def in_new_process(
    function: Callable[..., Any], *arguments: Any, environment: Mapping[str, str] | None = None
) -> Any:
    """Calls a function of a module in a new process and returns what it returns.

    Args:
        function: Named by its module, as pickle needs it.
        arguments: Of the function.
        environment: Variables that are other than here.

    Raises:
        RuntimeError: The function failed, or its process was killed.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(there, function, arguments))
    before = dict(os.environ)
    os.environ.update(environment or {})
    try:
        process.start()
    finally:
        os.environ.clear()
        os.environ.update(before)
    there.close()
    try:
        result, error = here.recv()
    except EOFError:
        process.join()
        result, error = None, f"its process ended with exit code {process.exitcode}"
    process.join()
    if error is not None:
        raise RuntimeError(f"{function.__name__}: {error}")
    return result


def _call(connection: Connection, function: Callable[..., Any], arguments: Any) -> None:
    answer: tuple[Any, str | None]
    try:
        answer = function(*arguments), None
    except Exception as error:
        lines = str(error).strip().splitlines()
        answer = None, f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
    connection.send(answer)
