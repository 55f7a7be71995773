// The Vercel AI SDK with the compaction of docs/typescript.md in `prepareStep`, compiled by the test.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const task = JSON.parse(readFileSync(0, "utf8"));
const require = createRequire(`${process.env.PEER_FOLDER}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { generateText, tool, stepCountIs } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { z } = await load("zod");
const { compaction } = await import(pathToFileURL(task.compiled).href);

const lookup = tool({
  description: "Look up a ship.",
  inputSchema: z.object({ key: z.string() }),
  execute: async ({ key }) => `${key} lies at pier ${Number(key.slice(4)) + 3}. ${task.filler}`,
});
const openai = createOpenAI({ baseURL: `${task.url}/v1`, apiKey: "any" });
const prepareStep = compaction({ gateway: task.gateway, model: task.model, window: task.window });
const messages = [];
const answers = [];
for (const question of task.questions) {
  messages.push({ role: "user", content: question });
  const done = await generateText({
    model: openai.chat(task.model),
    instructions: "You answer questions about ships. Be brief.",
    maxRetries: 0,
    messages,
    tools: { lookup },
    stopWhen: stepCountIs(100),
    prepareStep,
  });
  messages.push(...done.steps.flatMap((step) => step.response.messages));
  answers.push(done.text);
}
console.log(`\n${JSON.stringify({ answers, messages })}`);
