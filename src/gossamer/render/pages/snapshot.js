// Returns the document as HTML, as a reader sees it: shadow roots in place of their hosts' children, children in the
// slots that show them, a comment where a frame's document belongs. It stops at a number of nodes or bytes of UTF-8.
// It runs in an isolated world, and takes every property from its prototype: forms and documents let a page replace
// properties by elements of that name.
(maxNodes, maxBytes, isFrame) => {
  const getter = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name).get;
  const firstChild = getter(Node, "firstChild");
  const nextSibling = getter(Node, "nextSibling");
  const nodeType = getter(Node, "nodeType");
  const data = getter(CharacterData, "data");
  const localName = getter(Element, "localName");
  const attributesOf = getter(Element, "attributes");
  const shadowRoot = getter(Element, "shadowRoot");
  const textContent = getter(Node, "textContent");
  const baseURI = getter(Node, "baseURI").call(document);
  const root = getter(Document, "documentElement").call(document);
  const body = getter(Document, "body").call(document);
  const { assignedNodes } = HTMLSlotElement.prototype;
  const closedRoots = globalThis.closedRoots ?? new Map();

  const ELEMENT = 1;
  const TEXT = 3;
  // Their text is no text of the page: with scripts, a browser does not show <noscript>.
  const LEFT_OUT = new Set(["noscript", "template", "style", "noembed", "noframes", "base"]);
  const EMPTY = new Set([
    "area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
  ]);
  const RENAMED = { xmp: "pre", plaintext: "pre" }; // their text is not escaped in HTML
  const URLS = new Set(["href", "src", "data", "action", "poster", "background", "cite"]);
  const NAME = /^[a-zA-Z][^\s/>\0]*$/;
  const ATTRIBUTE = /^[^\s"'<>/=\0]+$/;

  const pieces = [];
  let bytes = 0;
  let nodes = 0;
  let cut = "";
  const left = () => Math.max(0, maxBytes - bytes);
  const encoder = new TextEncoder();
  const scratch = new Uint8Array(8192);
  const byteLength = (text) =>
    3 * text.length <= scratch.length ? encoder.encodeInto(text, scratch).written : encoder.encode(text).length;
  // Returns how many characters of a text fit, and their bytes.
  const fitting = (text) => {
    if (3 * text.length <= left()) return { read: text.length, used: byteLength(text) };
    let read = 0;
    let used = 0;
    while (read < text.length) {
      const step = encoder.encodeInto(text.slice(read, read + scratch.length), scratch.subarray(0, left() - used));
      if (!step.read) break;
      read += step.read;
      used += step.written;
    }
    return { read, used };
  };
  const write = (text) => {
    bytes += byteLength(text);
    pieces.push(text);
  };
  // Writes a text up to the limit; a cut never leaves half of a character reference.
  const writeText = (text) => {
    const escaped = escapeText(text.slice(0, left()));
    const { read, used } = fitting(escaped);
    if (text.length > left() || read < escaped.length) cut = "bytes";
    bytes += used;
    const end = escaped.lastIndexOf("&", read - 1);
    const isHalf = read < escaped.length && end >= 0 && !escaped.slice(end, read).includes(";");
    pieces.push(escaped.slice(0, isHalf ? end : read));
  };
  const escapeText = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

  const absolute = (value) => {
    try {
      return new URL(value, baseURI).href;
    } catch {
      return value;
    }
  };
  const writeAttributes = (element) => {
    for (const { name, value } of attributesOf.call(element)) {
      if (!ATTRIBUTE.test(name) || value.length > left()) continue;
      const shown = isFrame && URLS.has(name) ? absolute(value) : value;
      const escaped = ` ${name}="${escapeText(shown).replaceAll('"', "&quot;")}"`;
      if (fitting(escaped).read === escaped.length) write(escaped);
    }
  };
  const frameIndex = (element) => {
    const view = element.contentWindow;
    for (let index = 0; view && index < window.length; index++) if (window[index] === view) return index;
    return -1;
  };
  const chain = (node, end = "") => ({ node, list: null, at: 0, end });

  // Writes the start of an element and returns what is inside; null when nothing is.
  const enter = (element) => {
    const name = localName.call(element);
    if (LEFT_OUT.has(name)) return null;
    if (name === "slot") {
      const assigned = element instanceof HTMLSlotElement ? assignedNodes.call(element) : [];
      return assigned.length ? { ...chain(null), list: assigned } : chain(firstChild.call(element));
    }
    if (isFrame && element === root) return { ...chain(null), list: body ? [body] : [] };
    if (isFrame && element === body) return chain(firstChild.call(body));
    const tag = RENAMED[name] ?? name;
    if (!NAME.test(tag) || tag.length > left()) return chain(firstChild.call(element));
    write(`<${tag}`);
    writeAttributes(element);
    write(">");
    if (EMPTY.has(name)) return null;
    if (name === "head") write(`<base href="${escapeText(baseURI).replaceAll('"', "&quot;")}">`);
    if (name === "script") {
      const text = /json/i.test(element.getAttribute("type") ?? "") ? textContent.call(element) : "";
      if (text.length < left() && fitting(text).read === text.length && !/<\/script|<!--/i.test(text)) write(text);
      write("</script>");
      return null;
    }
    if (name === "iframe" || name === "frame") {
      const index = frameIndex(element);
      write(name === "iframe" ? "</iframe>" : "");
      if (index >= 0) write(`<!--frame ${index}-->`);
      return null;
    }
    const shadow = shadowRoot.call(element) ?? closedRoots.get(element);
    return chain(firstChild.call(shadow ?? element), `</${tag}>`);
  };

  const stack = [{ ...chain(null), list: root ? [root] : [] }];
  while (stack.length) {
    const top = stack.at(-1);
    let node = null;
    if (!cut) {
      if (top.list) node = top.list[top.at++];
      else if (top.node) {
        node = top.node;
        top.node = nextSibling.call(node);
      }
    }
    if (!node) {
      write(top.end);
      stack.pop();
      continue;
    }
    if (++nodes > maxNodes) cut = "nodes";
    else if (bytes > maxBytes) cut = "bytes";
    const type = nodeType.call(node);
    if (type === TEXT) {
      writeText(data.call(node));
    } else if (type === ELEMENT) {
      const inside = enter(node);
      if (inside) stack.push(inside);
    }
  }
  return { html: pieces.join("").toWellFormed(), nodes, bytes, cut, frames: window.length };
}
