// @vitest-environment node
import { beforeAll, describe, expect, it, vi } from "vitest";

// What the browser has, as far as these modules look at it.
vi.stubGlobal("location", { hash: "" });
vi.stubGlobal("addEventListener", () => {});
vi.stubGlobal("sessionStorage", undefined);

let live: typeof import("./live");
beforeAll(async () => {
  live = await import("./live");
});

const say = (name: string, data: unknown, fresh: Set<string>) => live.receive({ name, data: JSON.stringify(data), id: "" }, fresh);
const tick = (second: number, fresh: Set<string>) => say("tick", { time: new Date(second * 1000).toISOString(), not_ready: "" }, fresh);

describe("the live stream", () => {
  it("starts with all, goes on with changes, and starts anew on a new stream", () => {
    const first = new Set<string>();
    say(
      "vips",
      {
        items: [
          { name: "a", new_connections: 0 },
          { name: "b", new_connections: 5 },
        ],
        gone: [],
      },
      first,
    );
    say("switches", { items: [], gone: [] }, first);
    tick(100, first);
    expect(live.link.value).toBe("live");
    say("vips", { items: [{ name: "a", new_connections: 20 }], gone: ["b"] }, first);
    tick(102, first);
    expect([...live.vips.value!.keys()]).toEqual(["a"]);
    expect(live.newConnections.get("a")).toBe(10);
    expect(live.totals.v[1]!.at(-1)).toBe(10);
    const second = new Set<string>();
    say("vips", { items: [{ name: "c", new_connections: 0 }], gone: [] }, second);
    expect([...live.vips.value!.keys()]).toEqual(["c"]);
  });

  it("takes no event twice and tells of lost ones", () => {
    const f = new Set<string>();
    say("hello", { version: "1", interval: 1, event: 3 }, f);
    for (const id of [1, 2, 2, 3, 1]) say("event", { id, kind: "vip", subject: "x", message: "up" }, f);
    expect(live.events.value.map((e) => e.id)).toEqual([1, 2, 3]);
    say("lost", { lost: 4 }, f);
    expect(live.eventsLost.value).toBe(4);
    say("hello", { version: "1", interval: 1, event: 1 }, f); // another store: ids have begun anew
    say("event", { id: 1, kind: "vip", subject: "y", message: "up" }, f);
    expect(live.events.value.map((e) => e.subject)).toEqual(["y"]);
  });

  it("asks for no switch that there cannot be", () => {
    const asked: (string | null)[] = [];
    vi.stubGlobal("window", { setInterval: () => 1 });
    vi.stubGlobal("fetch", (url: string) => {
      asked.push(new URLSearchParams(url.split("?")[1]).get("dpid"));
      return new Promise(() => {});
    });
    live.watch({ dpid: "00000000000000ab" });
    live.watch({ dpid: "ab" });
    expect(asked).toEqual(["00000000000000ab", null]);
  });

  it("waits longer with each failure, but not for ever", () => {
    expect([0, 1, 2, 9].map(live.backoff)).toEqual([250, 500, 1000, 5000]);
  });
});
