"""Errors of how a command is called, in the style of all others: the word, what is wrong, and what would be right."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, final

import click

EXTRA_ARGUMENTS = re.compile(r"Got unexpected extra arguments? \((.*)\)")  # Click has no class for this error
ARGUMENT_HELP = {
    "NETWORK": "a YAML file, or a network that comes with replnet, such as cascade",
    "EXPERIMENT": "a YAML file, or an experiment that comes with replnet, such as p2p/fig3",
    "FOLDER": "the directory of a run or a sweep, which -o has named there",
}  # what to give in the place of an argument, by its name in the help


@final
class Command(click.Command):
    """A command whose errors of usage always have its context, from which messages say what would be right."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise


@final
class Commands(click.Group):
    """A group of such commands, which names the nearest command in the place of one that does not exist."""

    command_class = Command
    group_class = type

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            words = _nearest(name, self.commands, f"{ctx.command_path} --help lists them")
            raise click.UsageError(f"{name}: there is no such command ({_command_for(name) or words})", ctx)
        return super().resolve_command(ctx, args)


def usage_message(error: click.UsageError) -> str:
    """Return the message for an error of usage: the option or argument, what is wrong, and what would be right.

    It is one line, but for the error of a group without a command, whose message is the help.
    """
    if isinstance(error, click.NoSuchOption):
        words = _nearest(error.option_name, _options(error.ctx), _see_help(error.ctx))
        return f"{error.option_name}: unknown option ({words})"
    if isinstance(error, click.MissingParameter) and error.param:
        return f"{_name(error.param)}: missing ({_right_value(error.param, error.ctx)})"
    if isinstance(error, click.BadParameter) and error.param:
        return _bad_value_message(error.param, error.message, error.ctx)
    if isinstance(error, click.BadOptionUsage):
        return _bad_option_message(error)
    if extra := EXTRA_ARGUMENTS.match(error.message):
        return f"{extra[1]}: more than the command takes ({_usage(error.ctx)}; quotes keep a text with spaces together)"
    return error.format_message()


def _command_for(name: str) -> str:
    """Return which command is likely to be meant by the name of a network or an experiment alone; empty for others."""
    from replnet.text import shipped

    if shipped(name, "experiments"):
        return f"did you mean replnet sweep {name}?"
    return f"did you mean replnet run {name}?" if shipped(name) or name.endswith((".yaml", ".yml")) else ""


def _nearest(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return "did you mean X?" for the nearest of `names` to an unknown name, or `otherwise` if none is near."""
    from replnet.text import suggestion

    nearest = suggestion(name, names)
    return nearest if nearest.startswith("did you mean") else otherwise


def _options(ctx: click.Context | None) -> list[str]:
    """Return all long options of the command of a context; none without a context."""
    params = ctx.command.get_params(ctx) if ctx else []
    return [name for param in params for name in (*param.opts, *param.secondary_opts) if name.startswith("--")]


def _see_help(ctx: click.Context | None) -> str:
    """Return a text that says where the options of a command are listed."""
    return f"{ctx.command_path if ctx else 'replnet'} --help lists the options"


def _usage(ctx: click.Context | None) -> str:
    """Return how the command of a context is called, without its options."""
    arguments = [param for param in ctx.command.params if isinstance(param, click.Argument)] if ctx else []
    return " ".join([ctx.command_path if ctx else "replnet", *map(_name, arguments)])


def _name(param: click.Parameter) -> str:
    """Return the name of a parameter as help has it: the longest name of an option, or that of an argument."""
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name.strip("[]")


def _right_value(param: click.Parameter, ctx: click.Context | None) -> str:
    """Return in words what may be given for a parameter: by its type, by its help, or by how its command is called."""
    kind = param.type
    if isinstance(kind, click.Choice):
        return f"one of {', '.join(map(str, kind.choices))}"
    if isinstance(kind, click.IntRange | click.FloatRange) or kind in (click.INT, click.FLOAT):
        return _range_words(kind)
    if isinstance(param, click.Option) and param.help:
        sentence = param.help.partition(".  [")[0].split(". ")[0].rstrip(".")
        return sentence[0].lower() + sentence[1:]
    return ARGUMENT_HELP.get(_name(param)) or _usage(ctx)


def _range_words(kind: Any) -> str:
    """Return in words which numbers a type of Click accepts, such as "a whole number from 1 to 9"."""
    words = "a whole number" if isinstance(kind, click.types.IntParamType) else "a number"
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    if low is not None and high is not None:
        return f"{words} from {low:,} to {high:,}"
    if low is not None:
        return f"{words} above {low:,}" if getattr(kind, "min_open", False) else f"{words}, {low:,} or more"
    return f"{words} such as 2"


def _bad_value_message(param: click.Parameter, message: str, ctx: click.Context | None) -> str:
    """Return the message for a value that a parameter does not take, of which Click says `message`."""
    name, kind, message = _name(param), param.type, message.rstrip(".")
    if isinstance(kind, click.Choice) and " is not one of " in message:
        value = message.partition(" is not one of ")[0]
        return f"{name}: {value} is unknown ({_nearest(value.strip(chr(39)), kind.choices, _right_value(param, ctx))})"
    if " is not in the range " in message:
        return f"{name}: {message.partition(' is not in the range ')[0]} is out of range ({_range_words(kind)})"
    if " is not a valid " in message:
        return f"{name}: {message.partition(' is not a valid ')[0]} is no number ({_range_words(kind)})"
    if isinstance(kind, click.Path):
        path = re.sub(r"^(File|Directory|Path) '(.*)' ", r"\2 ", message)
        return f"{name}: {path} ({'a file' if kind.file_okay else 'a folder'})"
    return f"{name}: {message} ({_right_value(param, ctx)})"


def _bad_option_message(error: click.BadOptionUsage) -> str:
    """Return the message for an option without the value that it takes, or with one that it does not take."""
    params = error.ctx.command.get_params(error.ctx) if error.ctx else []
    option = next((param for param in params if error.option_name in param.opts), None)
    if isinstance(option, click.Option) and not option.is_flag:
        return f"{error.option_name}: its value is missing ({_right_value(option, error.ctx)})"
    return f"{error.option_name}: takes no value (leave that out)"
