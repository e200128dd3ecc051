// The dashboard in a real browser, at a live controller on real switches with traffic.
//
// EVENFLOW_SCREENSHOTS names the folder for pictures of each page; EVENFLOW_WARM is for how many seconds traffic runs before.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Browser, fits, Network, number, until } from "./harness.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const s1 = "0000000000000001",
  s3 = "0000000000000003";
let net, browser, page;

before(async () => {
  [net, browser] = await Promise.all([Network.start(), Browser.start()]);
  page = await browser.open(net.url + "/");
});

after(async () => {
  await Promise.allSettled([net?.end(), browser?.end()]);
});

const go = (at) => page.goto(`${net.url}/#/${at}`);
const title = () => page.locator("h1");
const row = (name) => page.locator(".backends-table tbody tr", { has: page.getByRole("rowheader", { name, exact: true }) });
const cell = async (name, label) => number(await row(name).locator(`[data-label="${label}"]`).innerText());
const badge = (name) => row(name).locator(".badge");
const port = (no) => page.locator(`[data-port="${no}"]`);
const wait = (locator, what = "visible") => locator.waitFor({ state: what });

test("an empty controller says what to do", async () => {
  await wait(page.getByText("No VIP is declared yet"));
  await until("three switches", async () => (await page.locator(".tile", { hasText: "Switches up" }).innerText()).includes("3 / 3"));
  assert.equal(await page.title(), "Overview – Evenflow");
  await wait(page.locator(".connection", { hasText: "live" }));
});

test("a form with mistakes says which, field by field", async () => {
  await page.getByRole("link", { name: "Create the first" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Web!");
  await page.getByLabel("Address", { exact: true }).fill("10.0.0");
  await page.getByLabel("Address of backend 2").fill("10.0.0.300"); // the first row stays empty
  await page.getByRole("button", { name: "Create VIP" }).click();
  for (const name of ["Name", "Address", "Address of backend 2"]) {
    const field = page.getByLabel(name, { exact: true });
    await until(`${name} to be marked`, async () => (await field.getAttribute("aria-invalid")) === "true");
    const error = page.locator(`#${(await field.getAttribute("aria-describedby")).replaceAll(":", "\\:")}`);
    assert.ok((await error.innerText()).length > 5, `${name} has no message`);
  }
  await until("the first to have the focus", () => page.getByLabel("Name", { exact: true }).evaluate((e) => e === document.activeElement));
  assert.deepEqual((await net.call("GET", "/api/v1/vips")).items, []);
});

test("a VIP by the form", async () => {
  await page.getByLabel("Name", { exact: true }).fill("web");
  await page.getByLabel("Address", { exact: true }).fill("10.0.0.100");
  await page.getByLabel("Mode").selectOption("nat");
  await page.getByRole("button", { name: "Another backend" }).click();
  await page.getByRole("button", { name: "Another backend" }).click();
  for (let i = 1; i <= 4; i++) {
    await page.getByLabel(`Address of backend ${i}`).fill(`10.0.0.${i}`);
    await page.getByLabel(`Port of backend ${i}`).fill("8080");
  }
  await page.getByLabel("Weight of backend 2").fill("2");
  await page.getByRole("button", { name: "Create VIP" }).click();
  await until("its page", async () => (await title().innerText()) === "web");
  for (const b of ["b1", "b2", "b3", "b4"]) await until(`${b} to be up`, async () => (await badge(b).innerText()) === "up");
  await wait(page.getByText("Every connected switch holds this VIP."));
});

test("its connections arrive, as the weights ask", async () => {
  await net.tell("traffic", "c1", "http://10.0.0.100/", 60);
  await net.tell("traffic", "c2", "http://10.0.0.100/", 25);
  await until("300 connections", async () => (await cell("b1", "Total")) + (await cell("b2", "Total")) > 120);
  for (const b of ["b1", "b2", "b3", "b4"]) await until(`live connections of ${b}`, async () => (await cell(b, "Live")) > 0);
  await until("rates", async () => (await cell("b2", "New")) > 5);
  const share = async (i) => number(await page.locator(".shares li").nth(i).locator(".num").first().innerText());
  await until("b2's share of two fifths", async () => Math.abs((await share(1)) - 40) <= 4);
  await page.getByRole("button", { name: "List live connections" }).click();
  await wait(page.locator("tbody th", { hasText: "10.0.0.11:" }).first());
});

test("loads are compared, and an uneven one is found", async () => {
  await go("balance");
  const verdict = (name) => page.locator("tbody tr", { has: page.getByRole("rowheader", { name }) });
  await wait(verdict("uplinks ports"));
  await page.getByRole("link", { name: "web", exact: true }).click();
  await until("its page", async () => (await title().innerText()) === "Balance of web");
  await until("a whole window", async () => /10 \/ 10/.test(await page.locator(".facts").innerText()));
  await until("a dot for each sample of each port", async () => (await page.locator(".strips .sample").count()) === 40);
  await until("a comparison of each with each", async () => (await page.locator(".matrix tbody td").count()) === 16);
  await net.tell("traffic", "c2", "http://10.0.0.1:8080/", 150); // to b1, past the VIP
  await until("b1 to be found", async () => (await page.locator(".lead .badge").innerText()) === "imbalanced");
  await wait(page.locator(".matrix td.differs").first());
  await until("what is said of b1", async () => /of b1/.test(await page.locator(".facts").innerText()));
  await until("the tests in both plots", async () => (await page.locator(".course circle.imbalanced").count()) >= 6);
  const out = process.env.EVENFLOW_SCREENSHOTS;
  if (out) await page.screenshot({ path: path.join(out, "balance-found.png") });
  await until("the same verdict by the API", async () => (await net.call("GET", "/api/v1/vips/web/imbalance")).verdict === "imbalanced");
  await until("an event", async () =>
    (await net.call("GET", "/api/v1/events?last=100")).items.some((e) => e.kind === "imbalance" && e.message.includes("b1")),
  );
  await net.tell("traffic", "c2", "http://10.0.0.100/", 25);
});

test("a port's plot moves", async () => {
  await go(`switches/${s1}`);
  const card = port(1);
  const sent = async () => (await card.locator(".plot-legend b").nth(1).innerText()).match(/([\d.]+) ([kM])?bit/);
  await until("traffic at port 1", async () => (await sent())?.[2] !== undefined);
  const picture = () => card.locator("canvas").evaluate((c) => c.toDataURL());
  const first = await picture();
  await until("another picture", async () => (await picture()) !== first);
  // The line is drawn: the canvas has pixels of the series' colour.
  const drawn = await card.locator("canvas").evaluate((c) => {
    const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
    let n = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i] < 60 && data[i + 1] > 120 && data[i + 2] < 160 && data[i + 3] > 200) n++;
    return n;
  });
  assert.ok(drawn > 20, `${drawn} pixels of the line`);
  await net.tell("still", "c2");
  await until("port 2 to be quiet", async () =>
    /^[\d.]+ (bit|[0-9] kbit)/.test(await port(2).locator(".plot-legend b").nth(1).innerText()),
  );
  await net.tell("traffic", "c2", "http://10.0.0.100/", 25);
  await page.getByRole("button", { name: "packets/s" }).click();
  await until("packets per second", async () => /\/s$/.test(await card.locator(".plot-legend b").first().innerText()));
});

test("what a switch holds is read from it", async () => {
  await page.getByRole("link", { name: "Flows" }).click();
  await page.getByPlaceholder("Filter:").fill("10.0.0.100 desired");
  await wait(page.locator("details[open] td.code", { hasText: "nw_dst=10.0.0.100" }).first());
  await page.getByRole("link", { name: "Meters" }).click();
  await wait(page.getByRole("rowheader", { name: "first packets to VIPs" }));
  await until(
    "a meter that has met packets",
    async () => number(await page.locator("tr", { hasText: "first packets to VIPs" }).locator("td").nth(3).innerText()) > 50,
  );
  await page.getByRole("link", { name: "Drops" }).click();
  await wait(page.getByRole("rowheader", { name: "marker as sender" }));
});

test("a VIP of mode othello shows its generation, and its rules what they are for", async () => {
  const backends = [1, 2].map((i) => ({ name: `b${i}`, address: `10.0.0.${i}`, port: 8080 }));
  await net.call("POST", "/api/v1/vips?wait=30s", {
    name: "codes",
    address: "10.0.0.101",
    protocol: "tcp",
    port: "80",
    mode: "othello",
    backends,
  });
  await go("vips/codes");
  const fact = (name) => page.locator(".facts div", { has: page.locator("dt", { hasText: new RegExp(`^${name}$`) }) }).locator("dd");
  await until("its first generation", async () => /^1\s+1 kept$/.test(await fact("Generation").innerText()));
  await net.call("PATCH", "/api/v1/vips/codes/backends/b2?wait=30s", { weight: 3 });
  await until("the second", async () => /^2\s+2 kept$/.test(await fact("Generation").innerText()));
  await until("the end of the change", async () => /^none, the last took [\d.]+m?s$/.test(await fact("Change").innerText()));
  await go(`switches/${s1}/flows`);
  await page.getByPlaceholder("Filter:").fill("codes generation 2");
  await wait(page.locator("details[open] .about", { hasText: "codes, generation 2: Dcodes that end in" }).first());
  await page.getByRole("link", { name: "Groups" }).click();
  await wait(page.getByText(/codes, generation 2 \(current\): 256 Dcodes in \d+ rules, b2 192, b1 64/));
  const told = (await net.call("GET", "/api/v1/events?last=100")).items.filter((e) => e.kind === "change" && e.subject === "codes");
  assert.deepEqual(
    told.map((e) => e.message.replace(/after .*,/, "after a while,")),
    ["prepare, 2 backends", "flip", "settle", "steady after a while, 2 generations kept"].map((step) => `generation 2: ${step}`),
  );
  await net.call("DELETE", "/api/v1/vips/codes?wait=30s");
});

test("a drained backend gets no new connections, and keeps its own", async () => {
  await go("vips/web");
  await page.getByRole("button", { name: "Drain b3" }).click();
  await until("b3 to drain", async () => /drain/.test(await badge("b3").innerText()));
  await wait(page.getByRole("button", { name: "Enable b3" }));
  let b3 = 0;
  await until("others to get more, and b3 none", async () => {
    // those that were on their way when it began to drain may still be counted
    const [b1, before] = [await cell("b1", "Total"), await cell("b3", "Total")];
    await until("others to get more", async () => (await cell("b1", "Total")) > b1 + 20);
    return (b3 = await cell("b3", "Total")) === before;
  });
  await page.getByRole("button", { name: "Enable b3" }).click();
  await until("b3 to take part again", async () => (await cell("b3", "Total")) > b3);
});

test("what can hurt is asked about, and the keyboard is enough", async () => {
  const remove = page.getByRole("button", { name: "Remove b4" });
  await remove.focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await wait(dialog.getByText("connections end at once"));
  await page.keyboard.press("Escape");
  await wait(dialog, "detached");
  assert.ok(await remove.evaluate((e) => e === document.activeElement), "the focus is not back where it was");
  await page.keyboard.press("Enter");
  await wait(dialog);
  await page.keyboard.press("Tab"); // from Cancel, where the focus is first
  await page.keyboard.press("Enter");
  await wait(row("b4"), "detached");
  await page.getByRole("button", { name: "Add backend" }).click();
  await dialog.getByLabel("Address").fill("10.0.0.4");
  await dialog.getByLabel("Weight").fill("300");
  await page.keyboard.press("Enter");
  await wait(dialog.locator(".field-error"));
  await dialog.getByLabel("Weight").fill("1");
  await page.keyboard.press("Enter");
  await until("b4 to be back", async () => (await badge("b4").innerText()) === "up");
  await page.getByRole("button", { name: "Delete VIP" }).click();
  await dialog.getByRole("button", { name: "Cancel" }).click();
});

test("a switch that is cut off is seen, and seen again", async () => {
  await net.tell("cut", "s3");
  await go("");
  await wait(page.locator(".matters", { hasText: s3 }));
  await wait(page.locator(".tile", { hasText: "2 / 3" }));
  await wait(page.locator(".nav .trouble"));
  await go("topology");
  await wait(page.locator(".picture canvas").first());
  await page.getByRole("link", { name: "Events" }).click();
  await wait(page.locator(".events li", { hasText: "disconnected" }).first());
  await net.tell("mend", "s3");
  await go(`switches/${s3}`);
  // With its last controller Open vSwitch deletes all rules, which is told as a problem as soon as the ages of its ports are read.
  await until("it to be ready", async () => /^(ready|problem)$/.test(await page.locator(".lead .badge").innerText()));
  await until("its rules", async () => (await net.call("GET", `/api/v1/switches/${s3}`)).ready);
});

test("a lost backend shows why", async () => {
  await net.tell("pull", "b2");
  await go("vips/web");
  await until("b2 to be down", async () => (await badge("b2").innerText()) === "down");
  assert.match(await row("b2").innerText(), /port .* down/);
  await until("the VIP to be degraded", async () => (await page.locator(".lead .badge").innerText()) === "degraded");
  await net.tell("plug", "b2");
  await until("b2 to be up", async () => (await badge("b2").innerText()) === "up");
});

test("after a reload all is there again", async () => {
  const total = await cell("b1", "Total");
  await page.reload();
  await until("b1's total", async () => (await cell("b1", "Total")) >= total);
  await go(`switches/${s1}`);
  await page.reload();
  await wait(port(1).locator("canvas"));
  // The course of a minute ago comes from the controller: the page has just begun.
  const old = await page.evaluate(async (dpid) => {
    const h = await (await fetch(`/api/v1/switches/${dpid}/ports/1/history?seconds=60`)).json();
    return h.tx_bps.filter((v) => v !== null && v > 100000).length;
  }, s1);
  assert.ok(old > 15, `${old} seconds of traffic in the history`);
});

test("when the controller is away the page says so, and mends itself", async () => {
  await go("events");
  await wait(page.locator(".events li").first());
  await net.tell("stop");
  await wait(page.getByText("No connection to the controller."));
  await net.tell("start");
  await wait(page.getByText("No connection to the controller."), "detached");
  await wait(page.locator(".events li", { hasText: "stopped" }).first());
  await wait(page.locator(".events li", { hasText: "started" }).first());
  await until("the switches to be back", async () => (await net.call("GET", "/api/v1/switches")).items.every((s) => s.ready));
  const kept = (await net.call("GET", "/api/v1/events?last=1000")).items;
  kept.forEach((e, i) => assert.equal(e.id, kept[0].id + i, "ids of events rise by one, over the restart"));
  await until("no event twice and none missing", async () => {
    const now = (await net.call("GET", "/api/v1/events?last=1000")).items.length;
    return (await page.locator(".events li").count()) === Math.min(now, 200);
  });
});

test("names from the network are text", async () => {
  await net.tell("port", "s1", "<b>evil");
  await go(`switches/${s1}`);
  await wait(page.getByRole("heading", { name: "<b>evil" }));
  assert.equal(await page.locator("main b", { hasText: "evil" }).count(), 0);

  // And every other text too: each answer's strings get markup that would run.
  const markup = `<img src=x onerror="window.__xss=1"><svg onload="window.__xss=2">`;
  const fixed = new Set([
    "dpid",
    "state",
    "phase",
    "kind",
    "time",
    "since",
    "end",
    "origin",
    "admin",
    "mode",
    "protocol",
    "type",
    "mac",
    "version",
    "id",
    "verdict",
    "tested",
    "restarted",
  ]);
  const mangle = (v, key) =>
    Array.isArray(v)
      ? v.map((x) => mangle(x, key))
      : v && typeof v === "object"
        ? Object.fromEntries(Object.entries(v).map(([k, x]) => [k, mangle(x, k)]))
        : typeof v === "string" && !fixed.has(key) && v !== "web" && key !== "backends"
          ? markup + v
          : v;
  const other = await browser.open("about:blank");
  await other.route("**/api/v1/**", async (route) => {
    const url = route.request().url();
    if (!url.includes("/live")) {
      const answer = await route.fetch();
      return route.fulfill({ response: answer, body: JSON.stringify(mangle(await answer.json())) });
    }
    const gone = new AbortController();
    let text = "";
    const answer = await fetch(url, { signal: gone.signal });
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if ((text.match(/event: tick/g) ?? []).length > 0 && text.endsWith("\n\n")) break;
    }
    gone.abort();
    const body = text.replace(/^data: (.*)$/gm, (_, data) => "data: " + JSON.stringify(mangle(JSON.parse(data))));
    return route.fulfill({ status: 200, contentType: "text/event-stream", body });
  });
  for (const at of [
    "",
    "vips",
    "vips/web",
    "switches",
    `switches/${s1}`,
    `switches/${s1}/flows`,
    `switches/${s1}/meters`,
    `switches/${s1}/drops`,
    "topology",
    "balance",
    "balance/web",
    "events",
  ]) {
    await other.goto(`${net.url}/#/${at}`);
    await other.reload();
    await until(
      `markup as text on ${at}`,
      async () => at === "topology" || /meters$/.test(at) || (await other.locator("main").innerText()).includes("<img src=x"),
    );
    if (at.endsWith("flows")) for (const s of await other.locator("summary").all()) await s.click();
    if (at === "topology") await wait(other.locator(".picture canvas").first());
    assert.equal(await other.locator("img, main svg[onload]").count(), 0, `an element made of a name on ${at}`);
    assert.equal(await other.evaluate(() => window.__xss), undefined, `a name ran on ${at}`);
  }
  await other.close();
  await net.tell("unport", "s1", "<b>evil");
  await wait(page.getByRole("heading", { name: "<b>evil" }), "detached");
});

test("a token is asked for, and kept as long as the tab", async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "evenflow-token-"));
  writeFileSync(path.join(dir, "token"), "open sesame\n");
  const free = await new Promise((done) => {
    const s = createServer().listen(0, "127.0.0.1", () => {
      const { port } = s.address();
      s.close(() => done(port));
    });
  });
  const url = `http://127.0.0.1:${free}`;
  const program = process.env.EVENFLOW ?? path.join(root, "bin", "evenflow");
  const child = spawn(
    program,
    [
      "serve",
      "--data",
      path.join(dir, "data"),
      "--openflow",
      `unix:${dir}/of`,
      "--http",
      `127.0.0.1:${free}`,
      "--token-file",
      path.join(dir, "token"),
    ],
    { stdio: "ignore" },
  );
  try {
    await until("the controller", async () => (await fetch(`${url}/healthz`)).ok);
    const tab = await browser.open(url + "/");
    const field = tab.getByLabel("Token");
    await field.fill("open barley");
    await tab.keyboard.press("Enter");
    await wait(tab.getByText("The controller has refused this token."));
    await field.fill("open sesame");
    await tab.keyboard.press("Enter");
    await wait(tab.getByText("Waiting for the first switch to connect"));
    await tab.reload();
    await wait(tab.getByText("Waiting for the first switch to connect"));
    assert.ok(!(await tab.context().cookies()).length && !(await tab.evaluate(() => JSON.stringify(localStorage))).includes("sesame"));
    const another = await browser.open(url + "/");
    await wait(another.getByLabel("Token"));
    await Promise.all([tab.close(), another.close()]);
  } finally {
    child.kill();
    await new Promise((done) => child.once("exit", done));
    rmSync(dir, { recursive: true, force: true });
  }
});

/** Lets there be something to see: more VIPs, traffic that comes and goes, and changes. */
async function warmUp(seconds) {
  const backend = (i, weight = 1) => ({ name: `b${i}`, address: `10.0.0.${i}`, port: 8080, weight });
  const more = [
    ["api", "10.0.0.101", "tcp", "443", [backend(1), backend(3), backend(4)]],
    ["dns", "10.0.0.102", "udp", "53", [backend(2), { name: "b9", address: "10.0.0.9" }]],
    ["static", "10.0.0.103", "tcp", "8000-8010", [backend(3), backend(4)]],
  ];
  for (const [name, address, protocol, port, backends] of more) {
    await net.call("POST", "/api/v1/vips", { name, address, protocol, port, mode: "nat", backends });
  }
  for (let left = seconds; left > 0; left -= 20) {
    const rate = 30 + Math.round(60 * Math.sin(left / 110) ** 2);
    await net.tell("traffic", "c1", "http://10.0.0.100/", rate);
    await net.tell("traffic", "c2", `http://10.0.0.${left % 3 ? "101:443" : "103:8003"}/`, Math.round(rate / 3));
    if (left <= 200 && left > 180) await net.call("PATCH", "/api/v1/vips/web/backends/b4", { admin: "draining" });
    if (left <= 100 && left > 80) await net.call("PATCH", "/api/v1/vips/web/backends/b4", { admin: "enabled" });
    await page.waitForTimeout(20000);
  }
}

test("each page in its picture, wide and narrow, light and dark", async () => {
  const out = process.env.EVENFLOW_SCREENSHOTS ?? mkdtempSync(path.join(tmpdir(), "evenflow-screenshots-"));
  mkdirSync(out, { recursive: true });
  const warm = Number(process.env.EVENFLOW_WARM ?? 0);
  if (warm) await warmUp(warm);
  const pages = {
    overview: "",
    vips: "vips",
    vip: "vips/web",
    "new-vip": "new-vip",
    switches: "switches",
    switch: `switches/${s1}`,
    flows: `switches/${s1}/flows`,
    meters: `switches/${s1}/meters`,
    topology: "topology",
    balance: "balance/web",
    balances: "balance",
    events: "events",
  };
  const ready = async (name) => {
    if (name === "topology") await wait(page.locator(".picture canvas").first());
    if (name === "switch") await wait(port(1).locator("canvas"));
    await wait(page.locator(".spinner").first(), "detached");
    await page.waitForTimeout(warm ? 2500 : 300);
  };
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    for (const [width, height, suffix] of [
      [1280, 800, ""],
      [390, 844, "-narrow"],
    ]) {
      await page.setViewportSize({ width, height });
      for (const [name, at] of Object.entries(pages)) {
        await go(at);
        await ready(name);
        await fits(page);
        const file = path.join(out, `${name}${suffix}${scheme === "dark" ? "-dark" : ""}.png`);
        await page.screenshot({ path: file });
        assert.ok(statSync(file).size > 5000);
      }
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: "light" });
  if (!process.env.EVENFLOW_SCREENSHOTS) rmSync(out, { recursive: true, force: true });
});

test("nothing was loaded from elsewhere, and nothing went wrong unseen", () => {
  assert.deepEqual(browser.problems, []);
  for (const origin of browser.asked) assert.match(origin, /^http:\/\/127\.0\.0\.1:\d+$|^null$/);
});
