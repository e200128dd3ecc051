import { describe, expect, it } from "vitest";
import { Parser, type Message } from "./sse";

function parse(pieces: string[]): Message[] {
  const out: Message[] = [];
  const p = new Parser((m) => out.push(m));
  for (const piece of pieces) p.push(piece);
  return out;
}

describe("server-sent events", () => {
  const text = ': hello\n\nevent: vips\ndata: {"a":1}\n\nid: 7\ndata: one\ndata: two\n\n: ping\n\ndata:x\n\n';
  const want = [
    { name: "vips", data: '{"a":1}', id: "" },
    { name: "message", data: "one\ntwo", id: "7" },
    { name: "message", data: "x", id: "7" },
  ];

  it("are the same however the text is cut", () => {
    expect(parse([text])).toEqual(want);
    expect(parse([...text])).toEqual(want);
    for (let i = 1; i < text.length; i++) expect(parse([text.slice(0, i), text.slice(i)])).toEqual(want);
  });

  it("may end their lines in any way", () => {
    expect(parse([text.replaceAll("\n", "\r\n")])).toEqual(want);
  });

  it("that are not ended are not handed out", () => {
    expect(parse(["data: x\n"])).toEqual([]);
  });
});
