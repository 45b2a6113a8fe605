// Returns the document as HTML, as a reader sees it: shadow roots in place of their hosts' children, children in the
// slots that show them, a comment where a frame's document belongs. It stops at a number of nodes or characters.
// It runs in an isolated world, and takes every property from its prototype: forms and documents let a page replace
// properties by elements of that name.
(maxNodes, maxCharacters, isFrame) => {
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
  let characters = 0;
  let nodes = 0;
  let cut = "";
  const write = (text) => {
    characters += text.length;
    pieces.push(text);
  };
  const escapeText = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const left = () => Math.max(0, maxCharacters - characters);

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
      write(` ${name}="${escapeText(shown).replaceAll('"', "&quot;")}"`);
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
    if (!NAME.test(tag)) return chain(firstChild.call(element));
    write(`<${tag}`);
    writeAttributes(element);
    write(">");
    if (EMPTY.has(name)) return null;
    if (name === "head") write(`<base href="${escapeText(baseURI).replaceAll('"', "&quot;")}">`);
    if (name === "script") {
      const text = /json/i.test(element.getAttribute("type") ?? "") ? textContent.call(element) : "";
      if (text.length < left() && !/<\/script|<!--/i.test(text)) write(text);
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
    else if (characters > maxCharacters) cut = "bytes";
    const type = nodeType.call(node);
    if (type === TEXT) {
      const text = data.call(node);
      if (text.length > left()) cut = "bytes";
      write(escapeText(text.slice(0, left())));
    } else if (type === ELEMENT) {
      const inside = enter(node);
      if (inside) stack.push(inside);
    }
  }
  return { html: pieces.join("").toWellFormed(), nodes, cut, frames: window.length };
}
