// Opens the pages that `gbench-ci site` wrote in a real browser without a network, light and dark, wide and narrow, from the folder
// and from a server on this machine, and says what is wrong with them. `node check.mjs SITE SCREENSHOTS`; `--self-test` proves that
// it finds what it looks for.
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const flags = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const MOST_BYTES = 300_000;
const SIZES = { wide: { width: 1280, height: 900 }, narrow: { width: 380, height: 800 } };

async function htmlBelow(folder) {
  const found = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await htmlBelow(path)));
    else if (entry.name.endsWith(".html")) found.push(path);
  }
  return found.sort();
}

function serve(folder) {
  const server = createServer(async (request, response) => {
    const path = resolve(folder, "." + decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    try {
      if (relative(folder, path).startsWith("..")) throw new Error("outside");
      const body = await readFile(path);
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

// Everything that a page does while it is open, which should be nothing but to load itself.
async function opened(browser, url, options) {
  const { init, ...rest } = options;
  const context = await browser.newContext(rest);
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { faults.push(`dialog: ${dialog.message()}`); return dialog.dismiss(); });
  await page.route("**/*", (route) => {
    const asked = route.request().url();
    if (asked === url || asked.startsWith("data:")) return route.continue();
    faults.push(`request: ${asked}`);
    return route.abort();
  });
  await page.goto(url, { waitUntil: "load" });
  // What a handler of an error or of loading would do, it has done by then.
  await page.waitForTimeout(100);
  return { context, page, faults };
}

async function checkPage(browser, site, path, url, shots, everySize) {
  const faults = [];
  const name = relative(site, path);
  const bytes = (await stat(path)).size;
  if (bytes > MOST_BYTES) faults.push(`size: ${bytes} bytes`);
  for (const colorScheme of ["light", "dark"]) {
    for (const [size, viewport] of Object.entries(everySize ? SIZES : { narrow: SIZES.narrow })) {
      const seen = await opened(browser, url, { colorScheme, viewport });
      const wide = await seen.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (wide > 0) faults.push(`width: ${wide} px too wide at ${viewport.width} px`);
      const ran = await seen.page.evaluate(() => document.scripts.length);
      if (ran > 0) faults.push(`script: there are ${ran}`);
      if (shots) {
        const shot = `${name.replaceAll("/", "_").replace(/\.html$/, "")}.${colorScheme}.${size}.png`;
        await seen.page.screenshot({ path: join(shots, shot), fullPage: true });
      }
      faults.push(...seen.faults);
      await seen.context.close();
    }
    // In a context of its own: the checker is a script, which the page's policy forbids.
    const seen = await opened(browser, url, { colorScheme, viewport: SIZES.wide, bypassCSP: true });
    await seen.page.evaluate(() => document.querySelectorAll("details").forEach((it) => { it.open = true; }));
    await seen.page.evaluate(axe);
    const result = await seen.page.evaluate(() => globalThis.axe.run(document));
    for (const violation of result.violations) {
      if (!["serious", "critical"].includes(violation.impact)) continue;
      faults.push(`axe, ${colorScheme}: ${violation.id}: ${violation.nodes[0].html.slice(0, 160)} (${violation.nodes.length} places)`);
    }
    await seen.context.close();
  }
  // Each link leads to a page that is there, or away.
  const seen = await opened(browser, url, {});
  for (const link of await seen.page.evaluate(() => [...document.querySelectorAll("a[href]")].map((it) => it.href))) {
    const target = new URL(link);
    if (!["file:", "http:", "https:"].includes(target.protocol)) faults.push(`link: ${link}`);
    if (target.protocol !== "file:") continue;
    const there = await stat(target).catch(() => null);
    if (!there?.isFile()) faults.push(`link: ${link} is not there`);
  }
  await seen.context.close();
  return { name, bytes, faults: [...new Set(faults)] };
}

async function checkSite(browser, site, shots) {
  const all = await htmlBelow(site);
  const server = await serve(site);
  const origin = `http://127.0.0.1:${server.address().port}/`;
  const rows = [];
  for (const path of all) {
    const row = await checkPage(browser, site, path, pathToFileURL(path).href, shots, true);
    const served = await opened(browser, origin + relative(site, path), { colorScheme: "light" });
    row.faults.push(...served.faults.map((fault) => `served: ${fault}`));
    await served.context.close();
    rows.push(row);
  }
  server.close();
  return rows;
}

// Pages that are wrong in one way each; every one has to be found, and the good one must not be.
const GOOD = "<!doctype html><html lang=en><head><meta charset=utf-8><title>t</title><link rel=icon href=data:,></head><body><main><h1>t</h1>BODY</main></body></html>";
const BAD = {
  script: ["<script>alert(1)</script>", /dialog: 1|script: there/],
  handler: ["<img src=data:, alt=x onerror=alert(2)>", /dialog: 2/],
  request: ["<img src=https://example.org/x.png alt=x>", /request: https/],
  wide: ["<div style='width:900px'>x</div>", /width: /],
  contrast: ["<p style='color:#ccc;background:#fff'>hardly to be read</p>", /axe, .*color-contrast/],
  picture: ["<img src=data:image/gif;base64,R0lGODlhAQABAAAAACw= >", /axe, .*image-alt/],
  link: ["<a href=gone.html>gone</a>", /link: .*gone\.html is not there/],
  scheme: ["<a href='javascript:alert(3)'>x</a>", /link: javascript/],
  large: [`<p>${"x ".repeat(200_000)}</p>`, /size: /],
};

async function selfTest(browser) {
  const folder = await mkdtemp(join(tmpdir(), "site-check-"));
  let missed = 0;
  const names = ["good", ...Object.keys(BAD)];
  for (const name of names) {
    const path = join(folder, `${name}.html`);
    await writeFile(path, GOOD.replace("BODY", BAD[name]?.[0] ?? "<p>fine</p>"));
    const { faults } = await checkPage(browser, folder, path, pathToFileURL(path).href, null, true);
    const isRight = name === "good" ? faults.length === 0 : faults.some((fault) => BAD[name][1].test(fault));
    console.log(`${isRight ? "ok    " : "MISSED"} ${name}: ${faults[0] ?? "nothing"}`.slice(0, 150));
    missed += isRight ? 0 : 1;
  }
  await rm(folder, { recursive: true });
  return missed;
}

const [site, shots] = process.argv.slice(2);
const profile = await mkdtemp(join(tmpdir(), "site-check-profile-"));
const browser = await chromium.launch({ executablePath: browserPath, args: flags, env: { ...process.env, HOME: profile } });
let failed;
if (site === "--self-test") {
  failed = await selfTest(browser);
} else {
  await mkdir(shots, { recursive: true });
  const rows = await checkSite(browser, resolve(site), resolve(shots));
  failed = rows.filter((row) => row.faults.length > 0).length;
  for (const row of rows) {
    console.log(`${row.faults.length ? "FAILED" : "ok    "} ${String(row.bytes).padStart(7)} bytes  ${row.name}`);
    row.faults.forEach((fault) => console.log(`         ${fault}`));
  }
  console.log(`${rows.length} pages in light and dark at 1280 and 380 px, from ${dirname(resolve(site))}: ${failed} with faults`);
}
await browser.close();
await rm(profile, { recursive: true, force: true });
process.exit(failed > 0 ? 1 : 0);
