// Names from the data, written on the map where there is room: more of them the closer one looks, never one over another.

/** @typedef {import('./camera.js').Camera} Camera @typedef {import('./plan_data.js').Point} Point */
/**
 * @typedef {object} Name
 * @property {string} text @property {Point} at  pixels @property {number} [room]  pixels of width that it may take
 * @property {boolean} [beside]  beside, below or above a mark, not in the middle
 * @property {boolean} [needed]  even over something else
 */

const SIZE = 11.5; // pixels
const APART = 4;
const ASIDE = 17; // from the middle of a mark to its name
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
  for (const { text, at, room, beside, needed } of names) {
    if (written.length >= MOST) break;
    if (at[0] < 0 || at[1] < 0 || at[0] > camera.width || at[1] > camera.height) continue;
    let width = widths.get(text);
    if (width === undefined) widths.set(text, (width = pen.measureText(text).width));
    if (room !== undefined && width > room) continue;
    const [x, y] = at;
    const middle = x - width / 2;
    /** @type {Point[]} */
    const aside = [[x + ASIDE, y], [x - ASIDE - width, y], [middle, y + ASIDE], [middle, y - ASIDE]];
    const onMap = (beside ? aside : [/** @type {Point} */ ([middle, y])]).filter((one) => {
      const box = boxed(one, width);
      return box[0] >= 0 && box[2] <= camera.width;
    });
    const free = onMap.find((one) => !taken.some((other) => overlap(boxed(one, width), other)));
    const place = free ?? (needed ? onMap[0] : undefined);
    if (!place) continue;
    taken.push(boxed(place, width));
    pen.textAlign = 'left';
    pen.strokeText(text, ...place);
    pen.fillText(text, ...place);
    written.push(text);
  }
  return written;
}

/** @typedef {[number, number, number, number]} Box  west, north, east, south, in pixels */

/** The room of a name. @param {Point} place  its left end, on its middle line @param {number} width @returns {Box} */
const boxed = ([left, middle], width) => [left - APART, middle - SIZE / 2 - APART / 2, left + width + APART, middle + SIZE / 2 + APART / 2];

/** @param {Box} one @param {Box} other */
const overlap = (one, other) => one[0] < other[2] && one[2] > other[0] && one[1] < other[3] && one[3] > other[1];
