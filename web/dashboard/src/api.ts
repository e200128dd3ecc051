// The REST API, with types made from its own OpenAPI document.
import createClient from "openapi-fetch";
import { signal } from "@preact/signals";
import type { components, paths } from "./schema";

type Schemas = components["schemas"];
export type VIP = Schemas["VIP"];
export type VIPSpec = Schemas["VIPSpec"];
export type BackendSpec = Schemas["BackendSpec"];
export type BackendStatus = Schemas["BackendStatus"];
export type Connection = Schemas["Connection"];
export type Port = Schemas["Port"];
export type PortHistory = Schemas["PortHistory"];
export type Host = Omit<Schemas["Host"], "addresses"> & { addresses: string[] };
export type Imbalance = Schemas["Imbalance"];
export type Verdict = Imbalance["verdict"];
export type Event = Schemas["Event"];
export type Flow = Schemas["Flow"];
export type Group = Schemas["Group"];
export type Meter = Schemas["Meter"];
export type Problem = Schemas["Problem"];
export type LiveSwitch = Schemas["LiveSwitch"];
export type LiveVIP = Schemas["LiveVIP"];
export type LiveLink = Schemas["LiveLink"];
export type LiveHello = Schemas["LiveHello"];
export type LiveTick = Schemas["LiveTick"];
export type State = BackendStatus["state"];
export type Phase = LiveVIP["phase"];

const tokenKey = "evenflow.token";

/** The token that the server asks for; kept until the tab is closed. */
export const token = signal(readToken());
/** Whether the server has refused the token, or the lack of one. */
export const denied = signal(false);

function readToken(): string {
  try {
    return sessionStorage.getItem(tokenKey) ?? "";
  } catch {
    return ""; // storage is off: the token lives as long as the page
  }
}

export function setToken(t: string) {
  token.value = t;
  denied.value = false;
  try {
    sessionStorage.setItem(tokenKey, t);
  } catch {
    // as above
  }
}

export function authorization(): Record<string, string> {
  return token.value ? { Authorization: `Bearer ${token.value}` } : {};
}

export const api = createClient<paths>({ baseUrl: "/api/v1" });
api.use({
  onRequest({ request }) {
    for (const [name, value] of Object.entries(authorization())) request.headers.set(name, value);
    return request;
  },
  onResponse({ response }) {
    if (response.status === 401) denied.value = true;
  },
});

/** What went wrong, as people read it. */
export class Failure extends Error {
  /** Messages by the place in the request's body that they are about: "backends[1].port". */
  fields: Record<string, string> = {};

  constructor(problem: Partial<Problem> | undefined, status: number) {
    super(problem?.detail || problem?.title || `the server answered ${status}`);
    for (const e of problem?.errors ?? []) {
      const at = (e.location ?? "").replace(/^body\.?/, "");
      if (at && !this.fields[at]) this.fields[at] = e.message ?? "is wrong";
    }
  }
}

/** The answer of a request, or a Failure. */
export async function ask<T>(request: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  let result;
  try {
    result = await request;
  } catch (e) {
    throw new Failure({ detail: `no answer from the controller: ${e instanceof Error ? e.message : e}` }, 0);
  }
  if (!result.response.ok) throw new Failure(result.error as Problem | undefined, result.response.status);
  return result.data as T;
}

export function message(e: unknown): string {
  return e instanceof Error ? e.message : String(e);
}
