"""Pydantic AI's agent; its history is handed on from turn to turn."""

from typing import Any

from adapter_task import AdapterTask, lookup, write_result
from pydantic_ai.messages import ModelMessagesTypeAdapter

task = AdapterTask()
agent = task.run_code(lookup=lookup)["agent"]
history: list[Any] = []
answers = []
for question in task.questions:
    result = agent.run_sync(question, message_history=history)
    history = result.all_messages()
    answers.append(str(result.output))
write_result(answers, ModelMessagesTypeAdapter.dump_json(history).decode())
