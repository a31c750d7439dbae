"""The table's options as those of click's commands; spellings of earlier versions work and are not listed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from dmlcts.suites.options.option import Kind, Option, OptionTable
from dmlcts.suites.options.table import OPTIONS

Command = TypeVar("Command", bound=Callable[..., Any])


class TableOption(click.Option):
    """An option that takes more spellings than it lists.

    Args:
        row: the option, as it is for the command.
    """

    def __init__(self, row: Option) -> None:
        more: dict[str, Any] = {} if row.required else {"default": row.usual}
        if row.alone:
            more["flag_value"] = row.alone
        # Settings read numbers themselves: pytest's options are the same text, refused in the same words
        super().__init__(
            [*row.spellings, row.name],
            help=row.help,
            metavar=row.metavar,
            type=_type_of(row),
            is_flag=row.kind is Kind.FLAG,
            multiple=row.repeatable,
            required=row.required,
            show_default=bool(row.default) and not row.required,
            **more,
        )
        self.row = row

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser read the old spellings as well, apart from the listed ones."""
        super().add_to_parser(parser, ctx)
        if not self.row.old:
            return
        kept = self.opts, self.name, self.multiple
        self.opts, self.name, self.multiple = [*self.row.old], self._old_name, True
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts, self.name, self.multiple = kept

    @property
    def _old_name(self) -> str:
        return f"{self.row.name} by an old spelling"

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Take what was typed by an old spelling for the option's value.

        Raises:
            click.UsageError: it may have been meant for another option.
        """
        values = dict(opts)
        old = values.pop(self._old_name, [])
        if old:
            self._check_meant(ctx, old, twice=self.row.name in values and not self.multiple and not self.is_flag)
            values[self.row.name] = [*values.get(self.row.name, ()), *old] if self.multiple else old[-1]
        return super().handle_parse_result(ctx, values, args)

    def _check_meant(self, ctx: click.Context, old: Sequence[Any], *, twice: bool) -> None:
        """Refuse an old spelling that looks like another option, as `-o KEY=VALUE` does where -o was the output."""
        typed = "/".join(self.row.old)
        for row in (option.row for option in ctx.command.params if isinstance(option, TableOption)):
            if row.kind is not Kind.PAIRS or not set(self.row.old) & set(OPTIONS[row.name].spellings):
                continue
            for value in filter(_looks_like_a_pair, old):
                mend = f"write {row.spelling} {value}, or {self.row.spelling} for the output"
                raise click.UsageError(f"{typed} {value} may be an option of the backend: {mend}", ctx)
        if twice:
            raise click.UsageError(f"{typed} is {self.row.spelling}, which is given as well: give it once", ctx)


def _looks_like_a_pair(value: object) -> bool:
    return isinstance(value, str) and re.match(r"\w+=", value) is not None and not value.endswith(".zip")


def _type_of(row: Option) -> click.ParamType[Any] | type | None:
    if row.choices:
        return click.Choice(row.choices)
    if row.setting:
        return click.Path() if row.kind is Kind.PATH else None if row.kind is Kind.FLAG else str
    match row.kind:
        case Kind.FLAG:
            return None
        case Kind.NUMBER:
            return click.IntRange(int(row.least), None if row.most is None else int(row.most))
        case Kind.SECONDS:
            return click.FloatRange(row.least, row.most)
        case Kind.PATH:
            return click.Path()
        case Kind.FOLDER:
            return click.Path(file_okay=False)
        case Kind.PATH_OR_DASH:
            return click.Path(allow_dash=True)
        case Kind.DAY:
            return click.DateTime(["%Y-%m-%d"])
        case _:
            return str


def click_options(command: str, table: OptionTable = OPTIONS) -> list[click.Option]:
    """The options of a command, in the order of its help."""
    return [TableOption(row) for row in table.of(command)]


def options_of(command: str, table: OptionTable = OPTIONS) -> Callable[[Command], Command]:
    """Give a function the options of the table that apply to a command.

    Args:
        command: as it is typed, without ``dmlcts``: "run", "spec show".
        table: the table.
    """

    def with_options(function: Command) -> Command:
        # where click's decorators leave parameters for its command: the last first
        parameters: list[click.Parameter] = getattr(function, "__click_params__", [])
        function.__click_params__ = [*parameters, *reversed(click_options(command, table))]  # type: ignore[attr-defined]
        return function

    return with_options
