// A live controller on real switches, and a real browser that looks at it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = path.dirname(fileURLToPath(import.meta.url));

/** Mininet with a controller, told what to do line by line; see network.py. */
export class Network {
  static async start() {
    const n = new Network();
    n.child = spawn("/usr/bin/python3", [path.join(here, "network.py")], { stdio: ["pipe", "pipe", "inherit"] });
    n.lines = createInterface({ input: n.child.stdout })[Symbol.asyncIterator]();
    n.ended = new Promise((done) => n.child.once("exit", done));
    n.url = (await n.answer()).url;
    return n;
  }

  async answer() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error("the network has ended");
    const answer = JSON.parse(value);
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  /** Does one thing; see network.py. One at a time. */
  async tell(...words) {
    this.child.stdin.write(words.join(" ") + "\n");
    return (await this.answer()).ok;
  }

  call(method, url, body) {
    return this.tell("call", method, url, ...(body ? [JSON.stringify(body)] : []));
  }

  async end() {
    this.child.stdin.end();
    await this.ended;
  }
}

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A browser with a profile of its own. What goes wrong in its pages is gathered, and every address that they ask. */
export class Browser {
  problems = [];
  asked = new Set();

  static async start(options = {}) {
    const b = new Browser();
    b.profile = mkdtempSync(path.join(tmpdir(), "evenflow-chromium-"));
    b.context = await chromium.launchPersistentContext(b.profile, {
      executablePath: "/usr/bin/chromium",
      headless: true,
      args: flags,
      viewport: { width: 1280, height: 800 },
      colorScheme: "light",
      ...options,
    });
    b.context.setDefaultTimeout(60000);
    return b;
  }

  async open(url) {
    const page = await this.context.newPage();
    page.on("pageerror", (e) => this.problems.push(`error: ${e.message}`));
    page.on("console", (m) => {
      // That the controller does not answer while it is stopped is what the browser says itself.
      if (
        (m.type() === "error" || m.type() === "warning") &&
        !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|401 \(Unauthorized\)|422 \(Unprocessable|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/.test(
          m.text(),
        )
      ) {
        this.problems.push(`${m.type()}: ${m.text()}`);
      }
    });
    page.on("request", (r) => this.asked.add(new URL(r.url()).origin));
    await page.goto(url);
    return page;
  }

  async end() {
    await this.context.close();
    rmSync(this.profile, { recursive: true, force: true });
  }
}

/** Calls check until it returns something true or does not throw, which is returned. The limit decides when a broken page is given up. */
export async function until(what, check, limit = 60000) {
  const end = Date.now() + limit;
  let told = "";
  for (;;) {
    try {
      const found = await check();
      if (found) return found;
      told = "";
    } catch (e) {
      told = `: ${e.message}`;
    }
    if (Date.now() > end) assert.fail(`waited ${limit / 1000} s for ${what}${told}`);
    await new Promise((r) => setTimeout(r, 100));
  }
}

/** The page is no wider than its window. */
export async function fits(page) {
  const [has, is] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(has <= is, `${page.url()} is ${has} wide in a window of ${is}`);
}

/** The number in a text: "1,234" → 1234. */
export function number(text) {
  return Number(text.replace(/[^0-9.]/g, ""));
}
