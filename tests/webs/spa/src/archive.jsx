import { useEffect, useRef, useState } from "react";
import { RouteLinks } from "./parts.jsx";
import { fetchData } from "./data.js";

// A list that loads its next batch when its end comes into view.
export default function Archive({ batches }) {
  const [links, setLinks] = useState([]);
  const [loaded, setLoaded] = useState(0);
  const end = useRef(null);
  useEffect(() => {
    if (loaded >= batches) return;
    const observer = new IntersectionObserver(async (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      const batch = await fetchData(`/archive/batch-${loaded}`);
      setLinks((before) => [...before, ...batch.links]);
      setLoaded(loaded + 1);
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [loaded, batches]);
  return (
    <section className="archive">
      <RouteLinks links={links} />
      <div ref={end} />
    </section>
  );
}
