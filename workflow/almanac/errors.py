"""The one error of the package: a message for the person who runs Almanac, without a traceback."""


class AlmanacError(Exception):
    """Bad input or a broken promise, worded for the user.

    The message names the file, row or key, says what was found and what is allowed, and ends with what to do.
    The command line prints it and exits with 1; it never shows a traceback for it.
    """
