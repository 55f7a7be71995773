// Ask the search of a built site, with the worker that its pages use: node site/search.mjs build/site < questions.json
//
// Reads a JSON list of questions; writes a list with the locations of each question's hits, best first. A hit is a page
// with its matching sections, as the site shows it: its location is that of its best section.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const site = process.argv[2];
const workers = join(site, "assets/javascripts/workers");
const [name] = readdirSync(workers).filter((file) => /^search.*\.js$/.test(file));
const heard = [];
let answered;
const scope = {
  console,
  addEventListener: (_type, listener) => heard.push(listener),
  postMessage: (message) => answered(message),
};
scope.self = scope;
vm.createContext(scope);
vm.runInContext(readFileSync(join(workers, name), "utf-8"), scope);

const send = (data) => new Promise((resolve) => {
  answered = resolve;
  heard.forEach((listener) => listener({ data }));
});
const { config, docs } = JSON.parse(readFileSync(join(site, "search/search_index.json"), "utf-8"));
await send({ type: 0, data: { config, docs, options: { suggest: false } } });
const found = [];
for (const question of JSON.parse(readFileSync(0, "utf-8"))) {
  const { data } = await send({ type: 2, data: question });
  found.push(data.items.map((sections) => sections.map((section) => section.location)));
}
process.stdout.write(JSON.stringify(found));
