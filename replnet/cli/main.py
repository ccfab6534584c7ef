"""The command `replnet`: options that several commands take, exit codes, and what becomes of errors."""

from __future__ import annotations

import errno
import io
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import click

from replnet.cli.output import echo
from replnet.deadline import OutOfTime, seconds
from replnet.version import __version__

# Exit codes that scripts rely on.
FINE, DIFFERS, BAD_INPUT, INCOMPLETE, RAY_LOST, UNRESOLVED = 0, 1, 2, 3, 4, 5
EPILOG = (
    "Exit codes: 0 fine, 1 a comparison differs or a threshold failed, 2 bad input, 3 incomplete, 4 no Ray, "
    "5 unresolved, with --strict."
)

Option: TypeAlias = Callable[[Callable[..., int]], Callable[..., int]]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=EPILOG)
@click.version_option(__version__, prog_name="replnet")
def commands() -> None:
    """How fresh is what clients get from replicas that pull? Predict it, emulate it, compare.

    NETWORK is a YAML file, or the name of a network that comes with replnet, such as `cascade`.

    Names are completed by bash after eval "$(_REPLNET_COMPLETE=bash_source replnet)", and so in zsh and fish.
    """


# Options that several commands take, some in words of their own.


def overriding(words: str) -> Option:
    return click.option("-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help=words)


def formats(*more: str, words: str | None = "Of what goes to stdout.") -> Option:
    kinds = click.Choice(["table", "json", "csv", *more])
    return click.option("--format", "form", type=kinds, default="table", show_default=True, help=words)


def workers(command: Callable[..., int]) -> Callable[..., int]:
    """What shares the work: processes, or the workers of a Ray cluster."""
    number = click.option(
        "--workers", type=click.IntRange(min=0),
        help="Processes that share the work, or Ray workers with --address or RAY_ADDRESS; 0 or 1: this one alone.  "
             "[default: one per CPU, started when seconds of work are left]",
    )  # fmt: skip
    address = click.option("--address", help="A Ray cluster to join; local: one of its own.  [default: RAY_ADDRESS]")
    return number(address(command))


BUDGET = click.option("--budget", metavar="TIME", callback=lambda _, __, text: text and seconds(text),
                      help="End after this time, such as 90s, 10m or 2h, with what there is then.")  # fmt: skip
EXPLAIN = click.option("--explain", is_flag=True, help="Say what the words of the table mean, and how it came about.")
STRICT = click.option("--strict", is_flag=True, help="An exit code of its own for what is unresolved.")


def seeded(words: str | None = None) -> Option:
    return click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help=words)


def main() -> None:
    """Run a command; every error of the input is a message and exit code 2, never a traceback."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what is there is kept and said
    try:
        code = commands.main(standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt) as why:
        over = why.__cause__ if isinstance(why.__cause__, OutOfTime) else why  # of which Click makes an Abort
        echo(over.args[0] if over.args else "interrupted", err=True)
        code = INCOMPLETE
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        echo(words.getvalue(), err=True, nl=False)
        code = error.exit_code
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
        code = _outside(error)
    sys.exit(code if isinstance(code, int) else FINE)


def _outside(error: OSError | RuntimeError) -> int:
    """Says what Ray, the disk or another file did to a command; with the notes of the command, if it left any."""
    from replnet.live import LiveLost, Unreachable
    from replnet.live.pool import PoolLost
    from replnet.study.store.durable import DiskError

    if isinstance(error, LiveLost | Unreachable | PoolLost | DiskError):
        echo("\n".join([str(error), *getattr(error, "__notes__", ())]), err=True)
        return INCOMPLETE if isinstance(error, DiskError) else RAY_LOST
    if not isinstance(error, OSError):
        raise
    # A full disk may be made room on; any other file was named by the user. What has no name is stdout.
    echo(f"{error.filename or 'standard output'}: {error.strerror or error}", err=True)
    return INCOMPLETE if error.errno in (errno.ENOSPC, errno.EDQUOT) else BAD_INPUT


def code_of(*found: Any, strict: bool = False) -> int:
    """The exit code that results of runs or of sweeps amount to."""
    if any(one.verdict == "differ" for one in found):
        return DIFFERS
    if any(one.incomplete for one in found):
        return INCOMPLETE
    return UNRESOLVED if strict and any(one.verdict == "unresolved" for one in found) else FINE
