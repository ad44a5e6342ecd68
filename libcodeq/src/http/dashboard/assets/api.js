// Requests to the server that the page came from, in the name of the token of this session.
import {setServerTime} from "./format.js";

const base = new URL("v1/codeq/", document.baseURI);
const place = "codeq-token";
let caller = null;
let allowed = new Set();
let onSignedOut = () => {};

export const token = () => sessionStorage.getItem(place);
export const me = () => caller;
export const whenSignedOut = (action) => {
  onSignedOut = action;
};

/** True when the caller may use the route: what it may not use is not shown. */
export const may = (route) => allowed.has(route);

export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

function addressOf(path, query) {
  const address = new URL(
    path.startsWith("/") ? `.${path}` : path, path.startsWith("/") ? document.baseURI : base);
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== "" && value !== null && value !== undefined)
      address.searchParams.set(name, value);
  return address;
}

function headers() {
  const fields = {Accept: "application/json"};
  if (token()) fields.Authorization = `Bearer ${token()}`;
  return fields;
}

async function refuse(answer) {
  let text = `${answer.status} ${answer.statusText}`;
  try {
    text = (await answer.json()).error ?? text;
  } catch {
    // The answer of a proxy; its status says enough.
  }
  if (answer.status === 401) onSignedOut(text);
  throw new Refused(answer.status, text);
}

async function send(method, path, {query, body, signal} = {}) {
  const request = {method, headers: headers(), signal, cache: "no-store"};
  if (body !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(addressOf(path, query), request);
  } catch (failure) {
    if (failure.name === "AbortError") throw failure;
    throw new Refused(0, "the coordinator does not answer");
  }
  if (!answer.ok) await refuse(answer);
  return answer;
}

/** The number of shards whose part the last answer of a path lacked. */
const lacking = new Map();

/** The most shards that the last answer of a path lacked, since `forgetMissing`. */
export const missingShards = () => Math.max(0, ...lacking.values());
export const forgetMissing = () => lacking.clear();

export async function get(path, query, signal) {
  const answer = await send("GET", path, {query, signal});
  lacking.set(path, Number(answer.headers.get("Codeq-Missing-Shards") ?? 0));
  return answer.json();
}

export async function getText(path) { return (await send("GET", path)).text(); }

/** Sends a change; the answer is null when it has no body. */
export async function change(method, path, body, query) {
  const answer = await send(method, path, {body: body ?? {}, query});
  return answer.status === 204 ? null : answer.json();
}

/** A part of a path. */
export const part = (text) => encodeURIComponent(text);

/** Learns who calls with that token, or without one. */
export async function signIn(text) {
  if (text) sessionStorage.setItem(place, text);
  else if (text === "")
    sessionStorage.removeItem(place);
  try {
    caller = await get("me");
  } catch (failure) {
    if (failure.status === 401) sessionStorage.removeItem(place);
    throw failure;
  }
  setServerTime(caller.now);
  allowed = new Set(caller.routes);
  return caller;
}

export function signOut() {
  sessionStorage.removeItem(place);
  caller = null;
  allowed = new Set();
}

/** Listens to queues and workers until the stream ends, and calls take(name, data) for each. */
export const listen = (topics, take, signal) => readEvents("admin/live", {topics}, take, signal);

/** The same for the progress of a task, until the task ends. */
export const follow = (task, take, signal) =>
  readEvents(`tasks/${part(task)}/progress`, {}, take, signal);

async function readEvents(path, query, take, signal) {
  const answer = await send("GET", path, {query, signal});
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) takeEvent(event, take);
  }
}

function takeEvent(event, take) {
  let name = "message";
  let data = "";
  for (const line of event.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (data) take(name, JSON.parse(data));
}
