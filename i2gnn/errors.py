"""The error that a user can cause, as opposed to a bug of ours."""

__all__ = ["InputError"]


class InputError(ValueError):
    """Input that cannot be used; the message says what was received, what was expected, and where.

    The command line prints the message alone and exits with 1; in Python it is a `ValueError`.
    """
