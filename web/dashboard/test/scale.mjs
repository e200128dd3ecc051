// Measures the dashboard on a made-up network of 50 switches, 1,000 ports and 200 VIPs: what is sent, how soon something is
// seen, and how smoothly pages are drawn. Prints the tables of docs/dashboard.md.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Browser } from "./harness.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const port = await new Promise((done) => {
  const s = createServer().listen(0, "127.0.0.1", () => {
    const { port } = s.address();
    s.close(() => done(port));
  });
});
const url = `http://127.0.0.1:${port}`;
const dir = mkdtempSync(path.join(tmpdir(), "evenflow-scale-"));
execFileSync("go", ["test", "-tags", "scale", "-c", "-o", path.join(dir, "scale"), "./cmd/evenflow"], { cwd: root, stdio: "inherit" });
const server = spawn(path.join(dir, "scale"), ["-test.run=^TestScale$", "-test.timeout=10m"], {
  cwd: dir,
  env: { ...process.env, EVENFLOW_SCALE: `127.0.0.1:${port}` },
  stdio: ["pipe", "pipe", "inherit"],
});
for await (const line of createInterface({ input: server.stdout })) {
  if (line === "ready") break;
  console.error(line);
}

const kB = (n) => `${(n / 1000).toFixed(0)} kB`;
const ms = (n) => `${n.toFixed(0)} ms`;
const seconds = 10;

/** What the controller has used so far, in seconds of CPU. Its process holds the made-up switches too. */
async function used() {
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(await (await fetch(`${url}/metrics`)).text())[1]);
}

/** CPU of the process in a time, in per cent of a core. */
async function cpu(during) {
  const before = await used(),
    start = performance.now();
  await during();
  return (100 * ((await used()) - before)) / ((performance.now() - start) / 1000);
}

const sleep = (s) => new Promise((done) => setTimeout(done, 1000 * s));

const idle = await cpu(() => sleep(seconds));
const browser = await Browser.start();
const page = await browser.open(url + "/");
await page.locator(".tile", { hasText: "50 / 50" }).waitFor();
const first = await page.evaluate(() => {
  const size = (e) => e.transferSize,
    paint = performance.getEntriesByName("first-contentful-paint")[0];
  const own = [
    ...performance.getEntriesByType("navigation"),
    ...performance.getEntriesByType("resource").filter((e) => !e.name.includes("/api/")),
  ];
  return { paint: paint.startTime, sent: own.reduce((n, e) => n + size(e), 0), files: own.length };
});
console.log(
  `First paint ${ms(first.paint)} after the request, ${kB(first.sent)} in ${first.files} files (gzip). The controller's process, made-up switches included, uses ` +
    `${idle.toFixed(0)} % of a core without a dashboard.\n`,
);

console.log(
  "| page | stream at first | stream per second | frames per second | slowest frame | long tasks (> 50 ms) in 10 s | controller's CPU |",
);
console.log("|---|---|---|---|---|---|---|");
const client = await page.context().newCDPSession(page);
await client.send("Network.enable");
let bytes = 0;
client.on("Network.dataReceived", (e) => (bytes += e.dataLength));
for (const [name, at] of [
  ["overview", ""],
  ["VIPs", "vips"],
  ["one VIP", "vips/vip-007"],
  ["switches", "switches"],
  ["one switch, 20 plots", "switches/0000000000000007"],
  ["topology", "topology"],
  ["topology with 800 hosts", "topology"],
  ["events", "events"],
]) {
  bytes = 0;
  await page.goto(`${url}/#/${at}`);
  if (name.includes("hosts")) await page.getByLabel("All hosts").check();
  await sleep(3);
  const begin = bytes;
  bytes = 0;
  let drawn;
  const load = await cpu(async () => {
    drawn = await page.evaluate(async (seconds) => {
      const long = [];
      const seen = new PerformanceObserver((l) => long.push(...l.getEntries().map((e) => e.duration)));
      seen.observe({ type: "longtask" });
      const gaps = [];
      const end = performance.now() + 1000 * seconds;
      await new Promise((done) => {
        let last = performance.now();
        const frame = (now) => {
          gaps.push(now - last);
          last = now;
          now < end ? requestAnimationFrame(frame) : done();
        };
        requestAnimationFrame(frame);
      });
      seen.disconnect();
      return { fps: gaps.length / seconds, slowest: Math.max(...gaps), long: long.length, sum: long.reduce((a, b) => a + b, 0) };
    }, seconds);
  });
  if (process.env.EVENFLOW_SCREENSHOTS)
    await page.screenshot({ path: path.join(process.env.EVENFLOW_SCREENSHOTS, `scale-${name.replaceAll(/\W+/g, "-")}.png`) });
  console.log(
    `| ${name} | ${kB(begin)} | ${kB(bytes / seconds)} | ${drawn.fps.toFixed(0)} | ${ms(drawn.slowest)} | ${drawn.long}, ${ms(drawn.sum)} | ${load.toFixed(0)} % |`,
  );
}
const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
console.log(`\nThe page's heap at the end: ${kB(heap / 1000).replace("kB", "MB")}.`);
await browser.end();
server.stdin.end();
await new Promise((done) => server.once("exit", done));
rmSync(dir, { recursive: true, force: true });
if (browser.problems.length > 0) {
  console.error(browser.problems);
  process.exitCode = 1;
}
