// Which of many places lie far from all others: one broken transform must not make the map of a house a map of a country.

const SHARE = 0.9;
const REACH = 10; // times the distance within which nearly all lie
const LEAST = 2; // metres: nearly all are at one place

const sorted = (values) => Float64Array.from(values).sort();
const quantile = (values, share) => sorted(values)[Math.floor(share * (values.length - 1))];

/** Returns of each [x, y] whether it lies far from nearly all of them. */
export function farOff(points) {
  if (!points.length) return [];
  const [middleX, middleY] = [0, 1].map((axis) => quantile(points.map((one) => one[axis]), 0.5));
  const distances = points.map(([x, y]) => Math.hypot(x - middleX, y - middleY));
  const reach = REACH * Math.max(quantile(distances, SHARE), LEAST);
  return distances.map((distance) => distance > reach);
}
