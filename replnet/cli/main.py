"""The command `replnet`: options that several commands take, exit codes, and messages for errors."""

from __future__ import annotations

import errno
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import click

from replnet.cli.output import echo
from replnet.cli.usage import Commands, usage_message
from replnet.deadline import budget_seconds
from replnet.version import __version__

# Exit codes that scripts rely on.
FINE, DIFFERS, BAD_INPUT, INCOMPLETE, RAY_LOST, UNRESOLVED = 0, 1, 2, 3, 4, 5
ERRORS_OF_LOADING = (
    ImportError,
    RuntimeError,
    SystemError,
)  # into which Python may turn an interrupt while it loads a module
CALLBACK_SECONDS = 0.05  # after which a callback is over
EPILOG = (
    "Exit codes: 0 fine, 1 a comparison differs or a threshold failed, 2 bad input, 3 incomplete, 4 Ray "
    "is out of reach or lost, 5 unresolved, with --strict."
)

Option: TypeAlias = Callable[[Callable[..., int]], Callable[..., int]]


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=EPILOG
)
@click.version_option(__version__, prog_name="replnet")
def commands() -> None:
    """How fresh is what clients get from replicas that pull? Predict it, emulate it, compare.

    NETWORK is a YAML file, or the name of a network that comes with replnet, such as `cascade`.

    Names are completed by bash after eval "$(_REPLNET_COMPLETE=bash_source replnet)", and so in zsh and fish.
    """


# Options that several commands take, some with help of their own.


def override_option(words: str) -> Option:
    """Return a decorator that adds the option `--set KEY=VALUE` to a command, as its argument `overrides`.

    The command gets a tuple of all texts KEY=VALUE that were given; `words` is the help text of the option.
    """
    return click.option("-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help=words)


def format_option(*more: str, words: str | None = "How results are printed.") -> Option:
    """Return a decorator that adds the option `--format` to a command, as its argument `form`.

    It offers table (the default), json, csv and the names in `more`; `words` is its help text, None for no help.
    """
    kinds = click.Choice(["table", "json", "csv", *more])
    return click.option("--format", "form", type=kinds, default="table", show_default=True, help=words)


def worker_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options `--workers` and `--address` to a command, and return it.

    With them a user says how many processes share the work, and which Ray cluster to join.
    """
    number = click.option(
        "--workers", type=click.IntRange(min=0),
        help="Processes that share the work, or Ray workers with --address or RAY_ADDRESS; 0 or 1: this one alone.  "
             "[default: one per CPU, started when seconds of work are left]",
    )  # fmt: skip
    address = click.option("--address", help="A Ray cluster to join; local: one of its own.  [default: RAY_ADDRESS]")
    return number(address(command))


BUDGET = click.option("--budget", metavar="TIME", callback=lambda _, __, text: text and budget_seconds(text),
                      help="End after this time, such as 90s, 10m or 2h, with the results so far.")  # fmt: skip
EXPLAIN = click.option(
    "--explain", is_flag=True, help="Say what the words of the table mean, and where its numbers come from."
)
STRICT = click.option("--strict", is_flag=True, help="End with exit code 5 if a comparison is unresolved.")


def seed_option(words: str | None = None) -> Option:
    """Return a decorator that adds the option `--seed` to a command; `words` is its help text, None for no help.

    A seed is a whole number from 0 on, and 1 by default.
    """
    return click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help=words)


def main() -> None:
    """Run the command that the arguments of this process name, and end the process with its exit code.

    Every error in the input is printed on stderr as a message, never as a traceback, and gives exit code 2; an
    interrupt gives 3, and a failure of Ray 4.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: results so far are kept and printed
    try:
        with _keep_interrupts():
            code = commands.main(prog_name="replnet", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt) as why:
        over = why.__cause__ if isinstance(why.__cause__, KeyboardInterrupt) else why  # Click turns it into an Abort
        echo(over.args[0] if over.args else "interrupted", err=True)
        code = INCOMPLETE
    except click.UsageError as error:
        echo(usage_message(error), err=True)
        code = BAD_INPUT
    except SystemExit:
        # Click ends so, and without a word, when the reader of a pipe has seen enough.
        code = FINE
    except ValueError as error:
        echo(error, err=True)
        code = BAD_INPUT
    except MemoryError:
        echo("out of memory (a smaller network, or a machine with more)", err=True)
        code = BAD_INPUT
    except (OSError, RuntimeError) as error:
        code = _report_failure(error)
    sys.exit(code if isinstance(code, int) else FINE)


@contextmanager
def _keep_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt, inside this context, for an interrupt that would be lost or become another error.

    Python turns an interrupt that comes while it loads a module into another error, such as ImportError. One that comes
    during a callback, out of which nothing can be raised, is sent again a moment later.
    """
    previous_hook, resent = sys.unraisablehook, list[threading.Timer]()

    def send_again(lost: sys.UnraisableHookArgs) -> None:
        """Send an interrupt lost in a callback to the main thread again, a moment later; report others as usual."""
        if issubclass(lost.exc_type, KeyboardInterrupt):
            main_thread = threading.main_thread().ident
            resent.append(threading.Timer(CALLBACK_SECONDS, signal.pthread_kill, [main_thread, signal.SIGINT]))
            resent[-1].start()
        else:
            previous_hook(lost)

    sys.unraisablehook = send_again
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error if type(error) in ERRORS_OF_LOADING else None
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt):
                raise cause from None
            cause = cause.__cause__ or cause.__context__
        # What the callback should have done is missed before the interrupt is there again: a compiled kernel, say.
        if waiting := [timer for timer in resent if timer.is_alive()]:
            for timer in waiting:
                timer.cancel()
            raise KeyboardInterrupt from error
        raise
    finally:
        sys.unraisablehook = previous_hook


def _report_failure(error: OSError | RuntimeError) -> int:
    """Print on stderr why Ray, the disk or a file failed, and return the exit code: 2, 3 (disk) or 4 (Ray).

    Notes that were added to the error are printed below it. A RuntimeError that has nothing to do with these is raised
    again.
    """
    from replnet.live import LiveLost
    from replnet.store import DiskError
    from replnet.workers import RayUnreachableError

    if isinstance(error, LiveLost | RayUnreachableError | DiskError):
        echo("\n".join([str(error), *getattr(error, "__notes__", ())]), err=True)
        return INCOMPLETE if isinstance(error, DiskError) else RAY_LOST
    if not isinstance(error, OSError):
        raise
    # A full disk may be made room on; any other file was named by the user. What has no name is stdout.
    echo(f"{error.filename or 'standard output'}: {error.strerror or error}", err=True)
    return INCOMPLETE if error.errno in (errno.ENOSPC, errno.EDQUOT) else BAD_INPUT


def exit_code(*results: Any, strict: bool = False) -> int:
    """Return the exit code for one or several results of runs or sweeps: the first of these that holds for any of them.

    1 if its verdict is `differ`, 3 if it is incomplete, 5 if `strict` and its verdict is `unresolved`; else 0.
    """
    if any(result.verdict == "differ" for result in results):
        return DIFFERS
    if any(result.incomplete for result in results):
        return INCOMPLETE
    return UNRESOLVED if strict and any(result.verdict == "unresolved" for result in results) else FINE
