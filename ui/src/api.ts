import type { NodeChanges } from "./types";

/** How long after the last key the server is asked, in milliseconds. */
export const pause = 300;

/** The server could not answer; the message is a sentence for people. The status is that of HTTP, or 0 without an answer. */
export class Problem extends Error {
  constructor(message: string, readonly status = 0) { super(message); }
}

async function answer<T>(response: Response): Promise<T> {
  const body = await response.json().catch(() => ({ error: `the server answered ${response.status}` })) as T & { error?: string };
  if (!response.ok) throw new Problem(body.error ?? `the server answered ${response.status}`, response.status);
  return body;
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(`/api/v1/${path}`, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem("cno ui does not answer; it may have ended");
  }
}

/** The name of the key in the fragment of the address, and in the storage of the browser. */
const keyName = "key";

/** Takes the key of the session from the address. Other than the cookie, no server on another port of this host receives it. */
export function takeKey(): void {
  const begin = `#${keyName}=`;
  if (!location.hash.startsWith(begin)) return;
  localStorage.setItem(keyName, location.hash.slice(begin.length));
  history.replaceState(null, "", location.pathname + location.search);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return answer<T>(await reach(path, { signal }));
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return answer<T>(await reach(path, { method: "POST", headers: { "Content-Type": "application/json", "Cno-Ui-Key": localStorage.getItem(keyName) ?? "" }, body: JSON.stringify(body), signal }));
}

export interface Listener<T> { document(doc: T): void; changes?(changes: NodeChanges): void; problem(sentence: string): void }

/** Keeps a page live until the function that it returns is called. */
export function live<T>(page: string, listener: Listener<T>, parameters: Record<string, string> = {}): () => void {
  const source = new EventSource(`/api/v1/events?${new URLSearchParams({ ...parameters, page })}`);
  const on = (event: string, call: (data: never) => void) =>
    source.addEventListener(event, (e) => call(JSON.parse((e as MessageEvent<string>).data) as never));
  on("document", (doc: T) => listener.document(doc));
  on("changes", (changes: NodeChanges) => listener.changes?.(changes));
  on("problem", (problem: { error: string }) => listener.problem(problem.error));
  source.onerror = () => listener.problem(source.readyState === EventSource.CLOSED
    ? "cno ui does not answer; it may have ended, or this browser has no session: open the address that it printed"
    : "cno ui does not answer; trying again");
  return () => source.close();
}
