// The tasks of a queue by state, as a bar.
import {bar} from "./parts.js";

const states = ["leased", "ready", "gated", "scheduled", "dead"];

export const sizeOf = (queue) => states.reduce((sum, state) => sum + queue[state], 0);

/** `most`: the size of the largest queue beside it. */
export function queueBar(queue, most) {
  const parts = states.map((state) => ({
    name: state === "leased" ? "running" : state,
    state,
    value: queue[state],
  }));
  return bar(parts, {most});
}
