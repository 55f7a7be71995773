"""Users of two apps whose sessions have the same id and begin with the same words."""

import asyncio
import json
import sys
from types import SimpleNamespace
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.sessions import Session
from google.genai import types

from plimsoll.integrations.google_adk import PlimsollPlugin

json.load(sys.stdin)


async def main() -> None:
    plugin = PlimsollPlugin(window=8_000)
    ask, views = plugin.history.view_async, []

    async def asked(*given: Any, **named: Any) -> Any:
        views.append(await ask(*given, **named))
        return views[-1]

    plugin.history.view_async = asked
    for app, user in (("ships", "ada"), ("ships", "bob"), ("piers", "ada"), ("ships", "ada")):
        session = Session(id="main", app_name=app, user_id=user)
        context = SimpleNamespace(session=session, agent_name="agent", invocation_id="run")
        content = types.Content(role="user", parts=[types.Part(text="Where does it lie?")])
        request = LlmRequest(model="gemini-2.5-pro", contents=[content])
        await plugin.before_model_callback(callback_context=context, llm_request=request)
    print()
    known = [id(view.conversation) for view in views]
    print(json.dumps([known.index(one) for one in known]), flush=True)
    await plugin.close()


asyncio.run(main())
