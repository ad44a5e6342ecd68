// Elements, and the changes from one picture of a page to the next.

const svgNames = new Set(["svg", "path", "line", "circle", "rect", "g", "polyline", "title"]);

/** Makes an element. Properties that begin with "on" are listeners; null and false leave out. */
export function h(name, properties, ...children) {
  const isSvg = svgNames.has(name);
  const element = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", name) :
                          document.createElement(name);
  element.codeq = {listeners: {}, values: {}};
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    set(element, key, value);
  }
  append(element, children);
  return element;
}

function set(element, key, value) {
  if (key.startsWith("on")) {
    element.codeq.listeners[key] = value;
    element[key] = value;
  } else if (key === "style") {
    // The content policy forbids style attributes, not the properties.
    for (const [name, one] of Object.entries(value)) element.style.setProperty(name, one);
    element.codeq.style = value;
  } else if (key === "value" || key === "checked") {
    element.codeq.values[key] = value;
    element[key] = value;
  } else {
    element.setAttribute(key, value === true ? "" : value);
  }
}

function append(element, children) {
  for (const child of children.flat(4)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

const keyOf = (node) => (node.nodeType === 1 ? node.getAttribute("data-key") : null);
const isLike = (a, b) =>
  a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

/** Makes `old` look like `wanted` with as few changes as possible: focus and scrolling stay. */
export function morph(old, wanted) {
  if (old.nodeType !== 1) {
    if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
    return;
  }
  // What draws itself anew only when its content changes.
  const same = wanted.getAttribute("data-same");
  if (same !== null && same === old.getAttribute("data-same")) return;
  morphAttributes(old, wanted);
  morphListeners(old, wanted);
  morphChildren(old, wanted);
  morphValues(old, wanted);
}

function morphAttributes(old, wanted) {
  for (const {name} of [...old.attributes])
    if (name !== "style" && name !== "open" && !wanted.hasAttribute(name))
      old.removeAttribute(name);
  for (const {name, value} of [...wanted.attributes])
    if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  const before = old.codeq?.style ?? {};
  const after = wanted.codeq?.style ?? {};
  for (const name of Object.keys(before))
    if (!(name in after)) old.style.removeProperty(name);
  for (const [name, value] of Object.entries(after))
    if (before[name] !== value) old.style.setProperty(name, value);
  if (old.codeq) old.codeq.style = wanted.codeq?.style;
}

function morphListeners(old, wanted) {
  if (!old.codeq || !wanted.codeq) return;
  for (const key of Object.keys(old.codeq.listeners))
    if (!(key in wanted.codeq.listeners)) old[key] = null;
  for (const [key, value] of Object.entries(wanted.codeq.listeners)) old[key] = value;
  old.codeq.listeners = wanted.codeq.listeners;
}

// What a person has typed stays, unless the page itself wants another value than before.
function morphValues(old, wanted) {
  if (!old.codeq || !wanted.codeq) return;
  for (const [key, value] of Object.entries(wanted.codeq.values))
    if (old.codeq.values[key] !== value) old[key] = value;
  old.codeq.values = wanted.codeq.values;
}

function morphChildren(old, wanted) {
  const keyed = new Map();
  for (const child of old.childNodes) {
    const key = keyOf(child);
    if (key !== null) keyed.set(key, child);
  }
  let at = old.firstChild;
  for (const next of [...wanted.childNodes]) {
    const key = keyOf(next);
    const found = key === null ? null : keyed.get(key);
    if (found && found !== at && isLike(found, next)) old.insertBefore(found, at);
    const here = found && isLike(found, next) ? found : at;
    if (here && isLike(here, next)) {
      if (here === at) at = at.nextSibling;
      morph(here, next);
    } else {
      old.insertBefore(next, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}
