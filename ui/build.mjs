// Writes the bundle into internal/ui/web/dist, or into the directory that is named. The same sources and the versions of
// package-lock.json give the same bytes.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "internal", "ui", "web", "dist");

await rm(out, { recursive: true, force: true });
await mkdir(join(out, "assets"), { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.ts", style: "src/style.css" },
  outdir: join(out, "assets"),
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
});
await cp(join(here, "src", "index.html"), join(out, "index.html"));
await cp(join(here, "src", "icon.svg"), join(out, "assets", "icon.svg"));

// The licences of what is bundled ask to be shipped with it.
const bundled = Object.keys(JSON.parse(await readFile(join(here, "package.json"), "utf8")).dependencies).sort();
let licences = "";
for (const name of bundled) {
  const directory = join(here, "node_modules", name);
  const file = (await readdir(directory)).find((f) => /^licen[cs]e/i.test(f));
  licences += `${name}\n\n${(await readFile(join(directory, file), "utf8")).trim()}\n\n`;
}
await writeFile(join(out, "assets", "licences.txt"), licences);

// A test compares this with the sources wherever there is no Node.js, so that they do not change without the bundle.
if (!process.argv[2]) {
  // Tests of accessibility run where there is no npm. The header of the file has its licence.
  const axe = gzipSync(await readFile(join(here, "node_modules", "axe-core", "axe.min.js")), { level: 9 });
  await writeFile(join(here, "..", "internal", "cli", "ui", "testdata", "axe.min.js.gz"), axe);

  const digest = createHash("sha256");
  const sources = ["build.mjs", "package.json", "package-lock.json", ...(await readdir(join(here, "src"), { recursive: true, withFileTypes: true }))
    .filter((f) => f.isFile()).map((f) => relative(here, join(f.parentPath, f.name)).split(sep).join("/"))].sort();
  for (const name of sources) digest.update(`${name}\n`).update(await readFile(join(here, name))).update("\n");
  await writeFile(join(out, "..", "sources.sha256"), `${digest.digest("hex")}\n`);
}
