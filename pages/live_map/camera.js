// Where the map stands, and the pixels of places on it.

import { mercator } from './plan_data.js';

/** @typedef {import('./plan_data.js').Place} Place @typedef {import('./plan_data.js').Point} Point */

const SHARPEST = 2; // device pixels per pixel that are drawn at most

/**
 * Where the map stands: pixels = (place - centre) * scale + half the size.
 * @typedef {{centre: Point, scale: number, width: number, height: number, ratio: number}} Camera
 */

/**
 * @param {Point} lonlat  the middle of the map @param {number} zoom @param {Place} place
 * @param {[number, number]} size  of the map in pixels @returns {Camera}
 */
export function cameraAt(lonlat, zoom, place, [width, height]) {
  const [x, y] = mercator(lonlat);
  return {
    centre: [x - place.middle[0], y - place.middle[1]],
    scale: 512 * 2 ** zoom,
    width,
    height,
    ratio: Math.min(globalThis.devicePixelRatio || 1, SHARPEST),
  };
}

/** Pixels of a place on the map. @param {Camera} camera @param {Point} place @returns {Point} */
export function pixels(camera, [x, y]) {
  return [
    (x - camera.centre[0]) * camera.scale + camera.width / 2,
    (y - camera.centre[1]) * camera.scale + camera.height / 2,
  ];
}

/** Pixels of longitude and latitude. @param {Camera} camera @param {Place} place @param {Point} lonlat @returns {Point} */
export function pixelsOf(camera, place, lonlat) {
  const [x, y] = mercator(lonlat);
  return pixels(camera, [x - place.middle[0], y - place.middle[1]]);
}

/** Begin a path along closed rings of pixels. @param {CanvasRenderingContext2D} pen @param {Point[][]} rings */
export function trace(pen, rings) {
  pen.beginPath();
  for (const ring of rings) {
    ring.forEach((corner, n) => (n ? pen.lineTo(...corner) : pen.moveTo(...corner)));
    pen.closePath();
  }
}
