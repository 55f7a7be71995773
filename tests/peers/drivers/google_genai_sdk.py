"""Google's SDK: streams with tools, whole history kept by hand."""

from typing import Any

from google import genai
from google.genai import types
from task import SCHEMA, SYSTEM, lookup, read_task, write_answers

task = read_task()
declared: Any = {"name": "lookup", "description": "Look up a ship.", "parameters_json_schema": SCHEMA}
config = types.GenerateContentConfig(
    system_instruction=SYSTEM,
    tools=[types.Tool(function_declarations=[declared])],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)
client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=task.url))
history: list[Any] = []
answers = []
for question in task.questions:
    history.append(types.Content(role="user", parts=[types.Part(text=question)]))
    while True:
        parts: list[types.Part] = []
        for chunk in client.models.generate_content_stream(model=task.model, contents=history, config=config):
            parts += chunk.candidates[0].content.parts or []
        spoken = [part for part in parts if part.text or part.function_call]
        history.append(types.Content(role="model", parts=spoken))
        calls = [part.function_call for part in parts if part.function_call]
        if not calls:
            break
        results = [
            types.FunctionResponse(id=call.id, name=call.name, response={"output": lookup(call.args["key"])})
            for call in calls
        ]
        history.append(
            types.Content(role="user", parts=[types.Part(function_response=one) for one in results])
        )
    answers.append("".join(part.text or "" for part in spoken if not part.thought))
write_answers(answers)
