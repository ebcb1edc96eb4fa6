// Names from the data, written on the map where there is room: more of them the closer one looks, never one over another.

/** @typedef {import('./camera.js').Camera} Camera @typedef {import('./plan_data.js').Point} Point */
/**
 * @typedef {object} Name
 * @property {string} text @property {Point} at  pixels @property {number} [room]  pixels of width that it may take
 * @property {boolean} [beside]  to the right of a mark, not in the middle
 */

const SIZE = 11.5; // pixels
const APART = 4;
const MOST = 120; // names at once
/** @type {Map<string, number>} */
const widths = new Map();

/** The box of a mark, on which no name is written. @param {Point} at @param {number} reach @returns {[number, number, number, number]} */
export const around = ([x, y], reach) => [x - reach, y - reach, x + reach, y + reach];

/**
 * Write names, the first in the list first.
 * @param {CanvasRenderingContext2D} pen @param {Camera} camera @param {Iterable<Name>} names
 * @param {{ink: string, halo: string, taken: [number, number, number, number][]}} how  `taken`: where nothing may be written
 * @returns {string[]} what was written
 */
export function writeNames(pen, camera, names, { ink, halo, taken }) {
  const written = [];
  pen.font = `500 ${SIZE}px "Public Sans", system-ui, sans-serif`;
  pen.textBaseline = 'middle';
  pen.lineJoin = 'round';
  pen.lineWidth = 3;
  pen.strokeStyle = halo;
  pen.fillStyle = ink;
  for (const { text, at, room, beside } of names) {
    if (written.length >= MOST) break;
    if (at[0] < 0 || at[1] < 0 || at[0] > camera.width || at[1] > camera.height) continue;
    let width = widths.get(text);
    if (width === undefined) widths.set(text, (width = pen.measureText(text).width));
    if (room !== undefined && width > room) continue;
    const left = beside ? at[0] + 17 : at[0] - width / 2;
    /** @type {[number, number, number, number]} */
    const box = [left - APART, at[1] - SIZE / 2 - APART / 2, left + width + APART, at[1] + SIZE / 2 + APART / 2];
    if (box[0] < 0 || box[2] > camera.width) continue;
    if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
    taken.push(box);
    pen.textAlign = 'left';
    pen.strokeText(text, left, at[1]);
    pen.fillText(text, left, at[1]);
    written.push(text);
  }
  return written;
}
