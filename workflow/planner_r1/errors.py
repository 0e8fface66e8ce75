"""The one exception that stands for bad input."""


class InputError(Exception):
    """A file, key or argument a person gave is wrong.

    The message is shown alone, without a traceback, so it must name the place (file, row, key), say what was
    expected, and how to mend it.
    """
