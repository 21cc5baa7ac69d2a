// Icons as lines, so that no font decides how they look.

const PATHS = {
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  all: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  target: "M12 2v5M12 17v5M2 12h5M17 12h5M12 18a6 6 0 1 0 0-12 6 6 0 0 0 0 12",
  area: "M4 9l8-5 8 6-3 9H7zM4 9h.01M12 4h.01M20 10h.01M17 19h.01M7 19h.01",
  now: "M4 12h12M11 7l5 5-5 5M20 5v14",
  sessions: "M4 6h16M4 12h10M4 18h13",
  problems: "M12 4l9 16H3zM12 10v4M12 17h.01",
  health: "M3 12h4l3-7 4 14 3-7h4",
  memories: "M4 6h.01M8 6h12M4 12h.01M8 12h12M4 18h.01M8 18h12",
  fleet: "M5 9h6v6H5zM13 4h6v6h-6zM13 15h6v5h-6zM11 11l2-3M11 13l2 4",
  map: "M9 4L3 6v14l6-2 6 2 6-2V4l-6 2zM9 4v14M15 6v14",
  logout: "M10 4H5v16h5M9 12h11M16 8l4 4-4 4",
  sun: "M12 17a5 5 0 1 0 0-10 5 5 0 0 0 0 10M12 1v2M12 21v2M4 4l1.5 1.5M18.5 18.5L20 20M1 12h2M21 12h2M4 20l1.5-1.5M18.5 5.5L20 4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5",
};
const SVG = "http://www.w3.org/2000/svg";

/** Returns an icon; the name of its button is told elsewhere. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" })) svg.setAttribute(key, value);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
