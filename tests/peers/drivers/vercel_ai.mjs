// The Vercel AI SDK, for each API: generateText with a tool, whole history kept by hand.
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const task = JSON.parse(readFileSync(0, "utf8"));
// Packages are looked up in the client's environment, not beside this file.
const require = createRequire(`${process.env.PEER_FOLDER}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { generateText, tool, stepCountIs } = await load("ai");
const { z } = await load("zod");

// The recipe is a module of a project that has the packages.
symlinkSync(`${process.env.PEER_FOLDER}/node_modules`, `${task.folder}/node_modules`);
writeFileSync(`${task.folder}/recipe.mjs`, task.code[0]);
const { anthropic, openai } = await import(pathToFileURL(`${task.folder}/recipe.mjs`).href);
const provider = { responses: openai, openai: openai.chat, anthropic }[task.api];
const filler = "The harbour master wrote down every ship that came in, its draught, its cargo and its line. ";
const lookup = tool({
  description: "Look up a ship.",
  inputSchema: z.object({ key: z.string() }),
  execute: async ({ key }) => `${key} lies at pier ${key.length + Number(key.at(-1))}. ${filler.repeat(12)}`,
});
const messages = [];
const answers = [];
for (const question of task.questions) {
  messages.push({ role: "user", content: question });
  const done = await generateText({
    model: provider(task.model),
    instructions: "You answer questions about ships. Be brief.",
    maxRetries: 0,
    messages,
    tools: { lookup },
    stopWhen: stepCountIs(4),
  });
  messages.push(...done.steps.flatMap((step) => step.response.messages));
  answers.push(done.text);
}
console.log(`\n${JSON.stringify(answers)}`);
