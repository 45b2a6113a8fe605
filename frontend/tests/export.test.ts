import { describe, expect, test } from "vitest";
import { escapeXml, type Picture, toGexf, toSvg } from "../src/graph/export.ts";
import { emptyView, fillView } from "../src/graph/view.ts";
import { graphAnswer } from "./answers.ts";

const HOSTILE = '"><script>alert(1)</script>\u0000\u0008\ud800&';

function hostileView() {
  const hostile = graphAnswer(["a", "b"], [[0, 1, 3]]);
  hostile.nodes.key = ["https://example.org/?q=\"'<&", "https://example.org/b"];
  hostile.nodes.label = [HOSTILE, "b"];
  hostile.nodes.host = [HOSTILE, "b"];
  const view = emptyView();
  fillView(view, hostile, []);
  return view;
}

describe("files of the view", () => {
  test("escape text from the web and drop what XML forbids", () => {
    expect(escapeXml(HOSTILE)).toBe("&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;\ufffd&amp;");
  });

  test("as GEXF hold nodes, weighted links, colours and positions", () => {
    const text = toGexf(hostileView(), () => ({ radius: 4, colour: "#4477aa", hidden: false }), "Pages");
    expect(text).not.toContain("<script");
    expect(text).toContain('<node id="https://example.org/?q=&quot;&#39;&lt;&amp;"');
    expect(text).toContain('target="https://example.org/b" weight="3"/>');
    expect(text).toContain('<viz:color r="68" g="119" b="170"/>');
  });

  test("as GEXF leave out hidden nodes with their links", () => {
    const text = toGexf(
      hostileView(),
      (key) => ({ radius: 4, colour: "#4477aa", hidden: key.endsWith("/b") }),
      "Pages",
    );
    expect(text.match(/<node /g)).toHaveLength(1);
    expect(text).not.toContain("<edge ");
  });

  test("as SVG draw discs, lines and labels, with no script in them", () => {
    const picture: Picture = {
      width: 800,
      height: 600,
      paper: "#ffffff",
      ink: "#222222",
      font: 'system-ui, "Segoe UI"',
      title: HOSTILE,
      lines: [{ x1: 0, y1: 0, x2: 10, y2: 10, width: 1.5, colour: "#999999" }],
      discs: [{ x: 10, y: 10, radius: 4, colour: "#4477aa" }],
      labels: [{ key: "a", text: HOSTILE, x: 0, y: 0, size: 4, strong: true, left: 8, baseline: 3, fontSize: 12 }],
    };
    const text = toSvg(picture);
    expect(text).not.toContain("<script");
    expect(text.match(/<(circle|line|text) /g)).toEqual(["<line ", "<circle ", "<text "]);
  });
});
