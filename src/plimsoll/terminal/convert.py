"""`plimsoll convert`: write a session so that another agent continues it, without compacting it.

    FILE | SESSION | --latest AGENT ─► read ─► written for --to ─► the agent's folder, or --output

Notices go to standard error, the paths of written files to standard output.
"""

import click

from plimsoll.models import card_for, estimate_messages_tokens_rough
from plimsoll.terminal.prose import show_notice
from plimsoll.terminal.session_output import check_output, target_choice, write_converted
from plimsoll.terminal.session_source import latest_option, newest_of, read_source
from plimsoll.transcripts import Transcript, converted, for_target


@click.command()
@click.argument("sources", metavar="FILE|SESSION...", nargs=-1)
@latest_option
@click.option("--to", "target", required=True, type=target_choice, help="The agent or API to write for.")
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    help="Folder to use instead of the agent's own, or a file; - is standard output.",
)
def convert(sources: tuple[str, ...], latest: str | None, target: str, output: str | None) -> None:
    """Write a session for another agent, without compacting it.

    FILE is a session or conversation in any form that `plimsoll compress` reads; - reads standard input. SESSION is
    the id of a session of an agent, or of a stored one. The original is never changed.

    \b
    plimsoll convert --latest claude --to codex
    plimsoll convert session.jsonl --to claude-code
    plimsoll convert session.jsonl --to openai -o messages.json
    """
    if bool(sources) == bool(latest):
        raise click.UsageError("Name a FILE or a SESSION, or an agent with --latest.")
    paths = [newest_of(latest)] if latest else list(sources)
    transcripts = [for_target(transcript, target) for path in paths for transcript in read_source(path)]
    check_output(target, output, transcripts)
    for item in transcripts:
        for notice in (*item.notices, *_size_notice(item)):
            show_notice(f"{item.place}: {notice}")
    written = [converted(transcript, target, is_changed=False) for transcript in transcripts]
    for line in write_converted(target, output, written):
        click.echo(line)


def _size_notice(transcript: Transcript) -> list[str]:
    """A notice for a conversation that does not fit its model's window."""
    tokens = estimate_messages_tokens_rough(transcript.messages)
    limit = card_for(transcript.model or "").prompt_limit
    if tokens <= limit:
        return []
    return [
        f"about {tokens:,} tokens, and the window is {limit:,}. `plimsoll compress` with the same options fits it."
    ]
