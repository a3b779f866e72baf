// Fails the build when the first route needs more JavaScript than the budget allows (gzip, entry and its static imports).
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BUDGET_KB = 190;
const FIRST_VIEW = "src/views/Home.tsx";
const folder = new URL("./partita/ui/static/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", folder), "utf8"));

const needed = new Set();
function need(name) {
  const chunk = manifest[name];
  if (!chunk || needed.has(chunk.file)) return;
  needed.add(chunk.file);
  for (const imported of chunk.imports ?? []) need(imported);
}
need("index.html");
need(FIRST_VIEW);

const bytes = [...needed].reduce((sum, file) => sum + gzipSync(readFileSync(new URL(file, folder))).length, 0);
const kb = bytes / 1000;
console.log(`first route: ${kb.toFixed(1)} kB of JavaScript (gzip) in ${needed.size} files, budget ${BUDGET_KB} kB`);
if (!manifest[FIRST_VIEW] || kb > BUDGET_KB) {
  console.error(
    manifest[FIRST_VIEW] ? "The first route is over its budget: load something lazily." : `${FIRST_VIEW} is gone.`,
  );
  process.exit(1);
}
