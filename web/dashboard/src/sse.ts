// Server-sent events read by fetch: EventSource cannot send a token.

export interface Message {
  name: string;
  data: string;
  id: string;
}

/** Takes text as it comes, whatever the borders of its pieces, and hands out whole messages (HTML standard, section 9.2.6). */
export class Parser {
  private rest = "";
  private name = "";
  private id = "";
  private data: string[] = [];

  constructor(private readonly emit: (m: Message) => void) {}

  push(text: string) {
    this.rest += text;
    let end;
    while ((end = this.rest.search(/\r\n|\n|\r(?!$)/)) >= 0) {
      const line = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + (this.rest.startsWith("\r\n", end) ? 2 : 1));
      this.line(line);
    }
  }

  private line(line: string) {
    if (line === "") {
      if (this.data.length > 0) this.emit({ name: this.name || "message", data: this.data.join("\n"), id: this.id });
      this.name = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.name = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id") this.id = value;
  }
}

export class Refused extends Error {
  constructor(readonly status: number) {
    super(`the server answered ${status}`);
  }
}

/** Reads a stream until it ends, which is an error unless the signal has ended it. */
export async function follow(url: string, headers: Record<string, string>, signal: AbortSignal, emit: (m: Message) => void) {
  const response = await fetch(url, { headers: { ...headers, Accept: "text/event-stream" }, signal, cache: "no-store" });
  if (!response.ok || !response.body) throw new Refused(response.status);
  const parser = new Parser(emit);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error("the stream has ended");
    parser.push(value);
  }
}
