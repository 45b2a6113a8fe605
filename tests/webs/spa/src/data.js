import { useEffect, useState } from "react";
import { useLocation } from "react-router";

export async function fetchData(path) {
  const response = await fetch(`/api${path}.json`, { headers: { accept: "application/json" } });
  return response.ok ? response.json() : { title: "Not here", paragraphs: [], links: [] };
}

// Returns the data of the current route; undefined until they arrive.
export function useRouteData() {
  const { pathname } = useLocation();
  const [loaded, setLoaded] = useState({});
  useEffect(() => {
    let isCurrent = true;
    fetchData(pathname === "/" ? "/index" : pathname).then((data) => {
      if (!isCurrent) return;
      if (!data.moved) document.title = data.title;
      setLoaded({ pathname, data });
    });
    return () => {
      isCurrent = false;
    };
  }, [pathname]);
  return loaded.pathname === pathname ? loaded.data : undefined;
}
