import type { Session } from "./types";

/** What a page gets. It puts its content into body, and returns what ends it. */
export interface Context {
  body: HTMLElement;
  session: Session;
  /** Shows a sentence about a problem; an empty one removes it. */
  problem(sentence: string): void;
  /** Announces a sentence to screen readers. */
  say(sentence: string): void;
}
