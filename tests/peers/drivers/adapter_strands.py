"""Strands with our conversation manager, on OpenAI's API."""

from adapter_task import AdapterTask, lookup, write_result
from strands import tool
from strands.models.openai import OpenAIModel

task = AdapterTask()
model = OpenAIModel(client_args={"base_url": f"{task.url}/v1", "api_key": "any"}, model_id=task.model)
example = task.run_code(model=model, lookup=tool(lookup))
task.record(example["manager"])
agent = example["agent"]
agent.callback_handler = lambda **_: None
answers = [str(agent(question)).strip() for question in task.questions]
write_result(answers, agent.messages)
