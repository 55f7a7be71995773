"""`!command`: runs a shell command; its output is sent with the next message."""

from rich.text import Text

from plimsoll.errors import UserError
from plimsoll.messages.printable import plain
from plimsoll.terminal.chat.chat_session import ChatSession
from plimsoll.tools import ToolResult
from plimsoll.tools.terminal import Terminal


async def run_shell(chat: ChatSession, command: str) -> bool:
    """Run the command in the working directory of the model's commands. Returns whether it finished."""
    if not command:
        raise UserError("Name a command: !git status")
    tools = chat.settings.tools
    shell = Terminal(seconds=tools.timeout, settings=tools.terminal)
    found: list[ToolResult] = []

    async def run() -> None:
        context = chat.opened.conversation.agent.tool_context
        found.append(await shell.run({"command": command}, context))

    if not await chat.run(run(), f"running {command}"):
        return False
    chat.screen.show(Text(plain(found[0].text)))
    chat.attachments.add_output(command, found[0].text)
    chat.screen.note("The output is sent with your next message.")
    return True
