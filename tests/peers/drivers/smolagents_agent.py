"""A smolagents agent that calls tools; it keeps its memory over all questions."""

from smolagents import LogLevel, OpenAIServerModel, ToolCallingAgent, tool
from task import lookup, read_task, write_answers

task = read_task()
model = OpenAIServerModel(task.model, api_base=task.openai_url, api_key="any")
agent = ToolCallingAgent(tools=[tool(lookup)], model=model, verbosity_level=LogLevel.OFF)
write_answers([str(agent.run(question, reset=False)) for question in task.questions])
