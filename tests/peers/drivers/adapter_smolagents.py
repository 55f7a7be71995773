"""A smolagents agent that calls tools; it keeps its memory over all questions."""

from adapter_task import AdapterTask, lookup, write_result
from smolagents import LogLevel, tool

task = AdapterTask()
agent = task.run_code(lookup=tool(lookup))["agent"]
agent.logger.level = LogLevel.OFF
answers = [str(agent.run(question, reset=False)) for question in task.questions]
steps = agent.memory.get_full_steps()
write_result(answers, "\n".join(f"{step.get('task')}\n{step.get('observations')}" for step in steps))
