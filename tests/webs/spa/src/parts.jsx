import { useEffect, useRef } from "react";
import { Link } from "react-router";
import { fetchData } from "./data.js";

export function Paragraphs({ texts }) {
  return texts.map((text) => <p key={text}>{text}</p>);
}

export function RouteLinks({ links }) {
  return (
    <ul>
      {links.map(({ to, text }) => (
        <li key={to}>
          <Link to={to}>{text}</Link>
        </li>
      ))}
    </ul>
  );
}

export function Frame({ src }) {
  return <iframe src={src} title="A document of its own" />;
}

// Links that a script adds to the document by itself, past React, as widgets of other companies do.
export function ScriptLinks({ source }) {
  const place = useRef(null);
  useEffect(() => {
    fetchData(source).then(({ links }) => {
      for (const { to, text } of links) {
        const anchor = document.createElement("a");
        anchor.setAttribute("href", to);
        anchor.textContent = text;
        const line = document.createElement("p");
        line.append(anchor);
        setTimeout(() => place.current?.append(line), 30);
      }
    });
  }, [source]);
  return <section ref={place} />;
}
