// Leaflet says latitude and longitude where the robot says y and x.
/* global L */
const FARTHEST = 1e7; // metres: what lies beyond it, by whatever mistake, is drawn there, where a pixel can still be counted

const drawable = (metres) => Math.min(Math.max(metres, -FARTHEST), FARTHEST);

export const place = ([x, y]) => L.latLng(drawable(y), drawable(x));
export const point = ({ lat, lng }) => [lng, lat];
