// Leaflet says latitude and longitude where the robot says y and x.
/* global L */
export const place = ([x, y]) => L.latLng(y, x);
export const point = ({ lat, lng }) => [lng, lat];
