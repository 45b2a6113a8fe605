// A museum's site, drawn by the browser: routes by history, words and links by fetch, one page in a chunk of its own.
import { lazy, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter, Navigate, Route, Routes } from "react-router";
import { Frame, Paragraphs, RouteLinks, ScriptLinks } from "./parts.jsx";
import "./menu.js";
import { useRouteData } from "./data.js";

const Archive = lazy(() => import("./archive.jsx"));

function Page() {
  const data = useRouteData();
  if (!data) return <p>Loading …</p>;
  if (data.moved) return <Navigate to={data.moved} replace />;
  return (
    <main>
      <h1>{data.title}</h1>
      {data.image && <img src={data.image} alt={data.title} />}
      <Paragraphs texts={data.paragraphs} />
      <RouteLinks links={data.links} />
      {data.frame && <Frame src={data.frame} />}
      {data.batches > 0 && <Archive batches={data.batches} />}
      {data.script && <ScriptLinks source={data.script} />}
    </main>
  );
}

createRoot(document.getElementById("root")).render(
  <BrowserRouter>
    <museum-menu />
    <Suspense fallback={<p>Loading …</p>}>
      <Routes>
        <Route path="*" element={<Page />} />
      </Routes>
    </Suspense>
  </BrowserRouter>,
);
