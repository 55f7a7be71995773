"""Google ADK with our plugin, on Gemini's API."""

import asyncio
import os

from adapter_task import AdapterTask, lookup, write_result

task = AdapterTask()
os.environ |= {"GOOGLE_GEMINI_BASE_URL": task.url, "GOOGLE_API_KEY": "any"}

from google.genai import types  # noqa: E402

example = task.run_code(lookup=lookup)
task.record(example["plugin"])
runner = example["runner"]


async def main() -> None:
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    answers = []
    for question in task.questions:
        message = types.Content(role="user", parts=[types.Part(text=question)])
        said = ""
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            if event.is_final_response() and event.content:
                said = "".join(part.text or "" for part in event.content.parts)
        answers.append(said)
    stored = await runner.session_service.get_session(
        app_name=runner.app_name, user_id="u", session_id=session.id
    )
    write_result(answers, [event.model_dump(mode="json") for event in stored.events])
    await runner.close()


asyncio.run(main())
