// Residents who are areas. Which area covers a pixel is worked out when the map moves; turning the dial only looks up colours.

import { bytesOf } from './plan_data.js';

/** @typedef {import('./camera.js').Camera} Camera @typedef {import('./plan_data.js').Point} Point */

export class Shapes {
  /** @param {ArrayBuffer} bytes  see tkm_core/figures/live_place.py */
  constructor(bytes) {
    const [rings, points] = new Uint32Array(bytes, 0, 2);
    this.owner = new Uint32Array(bytes, 8, rings); // whose ring it is
    this.starts = new Uint32Array(bytes, 8 + 4 * rings, rings + 1);
    this.points = new Float32Array(bytes, 12 + 8 * rings, 2 * points); // Mercator, from the view's centre
    this.rings = rings;
    this.cover = new Uint32Array(0); // of every pixel: 1 + the number of its area, 0 where there is none
    this.stood = '';
    /** @type {Map<number, [number, number, number, number]>} */
    this.bounds = new Map();
    for (let n = 0; n < rings; n++) {
      const box = this.bounds.get(this.owner[n]) ?? [Infinity, Infinity, -Infinity, -Infinity];
      this.bounds.set(this.owner[n], box);
      for (let p = this.starts[n]; p < this.starts[n + 1]; p++) {
        const [x, y] = [this.points[2 * p], this.points[2 * p + 1]];
        if (x < box[0]) box[0] = x;
        if (y < box[1]) box[1] = y;
        if (x > box[2]) box[2] = x;
        if (y > box[3]) box[3] = y;
      }
    }
  }

  /** @param {string} url */
  static async from(url) {
    return new Shapes(await bytesOf(url));
  }

  /** Work out which area covers each pixel of a picture. @param {Camera} camera @param {number} width @param {number} height */
  lie(camera, width, height) {
    const stood = JSON.stringify([camera, width, height]);
    if (stood === this.stood) return;
    this.stood = stood;
    if (this.cover.length !== width * height) this.cover = new Uint32Array(width * height);
    else this.cover.fill(0);
    const scale = camera.scale * camera.ratio;
    const left = width / 2 - camera.centre[0] * scale;
    const top = height / 2 - camera.centre[1] * scale;
    for (let first = 0; first < this.rings; ) {
      let last = first;
      while (last < this.rings && this.owner[last] === this.owner[first]) last++;
      const [west, north, east, south] = /** @type {number[]} */ (this.bounds.get(this.owner[first]));
      const inView = east * scale + left > 0 && west * scale + left < width && south * scale + top > 0 && north * scale + top < height;
      if (inView) this.fill(first, last, { scale, left, top, width, height, low: north * scale + top, high: south * scale + top });
      first = last;
    }
  }

  /**
   * Note one area on the pixels whose centres lie within it; rings within rings are holes.
   * @param {number} first @param {number} last  its rings
   * @param {{scale: number, left: number, top: number, width: number, height: number, low: number, high: number}} frame
   */
  fill(first, last, { scale, left, top, width, height, low, high }) {
    const begin = Math.max(0, Math.ceil(low - 0.5));
    const end = Math.min(height, Math.ceil(high - 0.5));
    if (end <= begin) return;
    /** @type {number[][]} */
    const crossings = Array.from({ length: end - begin }, () => []);
    for (let n = first; n < last; n++) {
      for (let p = this.starts[n]; p < this.starts[n + 1] - 1; p++) {
        let [x1, y1] = [this.points[2 * p] * scale + left, this.points[2 * p + 1] * scale + top];
        let [x2, y2] = [this.points[2 * p + 2] * scale + left, this.points[2 * p + 3] * scale + top];
        if (y1 > y2) [x1, y1, x2, y2] = [x2, y2, x1, y1];
        const until = Math.min(end, Math.ceil(y2 - 0.5));
        const slope = (x2 - x1) / (y2 - y1);
        for (let row = Math.max(begin, Math.ceil(y1 - 0.5)); row < until; row++) crossings[row - begin].push(x1 + (row + 0.5 - y1) * slope);
      }
    }
    const mark = this.owner[first] + 1;
    crossings.forEach((xs, n) => {
      xs.sort((a, b) => a - b);
      const row = (begin + n) * width;
      for (let c = 0; c + 1 < xs.length; c += 2) {
        const from = Math.max(0, Math.ceil(xs[c] - 0.5));
        const to = Math.min(width, Math.ceil(xs[c + 1] - 0.5));
        if (to > from) this.cover.fill(mark, row + from, row + to);
      }
    });
  }

  /**
   * Colour every pixel by its area.
   * @param {Uint32Array} dots  filled @param {Uint32Array} inks  of the areas, alpha included
   */
  paint(dots, inks) {
    const { cover } = this;
    const tints = new Uint32Array(inks.length + 1);
    tints.set(inks, 1);
    for (let p = 0; p < dots.length; p++) dots[p] = tints[cover[p]];
  }

  /** The seams between areas. @param {CanvasRenderingContext2D} pen @param {Camera} camera */
  outline(pen, camera) {
    const left = camera.width / 2 - camera.centre[0] * camera.scale;
    const top = camera.height / 2 - camera.centre[1] * camera.scale;
    pen.beginPath();
    for (let n = 0; n < this.rings; n++) {
      for (let p = this.starts[n]; p < this.starts[n + 1]; p++) {
        const x = this.points[2 * p] * camera.scale + left;
        const y = this.points[2 * p + 1] * camera.scale + top;
        if (p === this.starts[n]) pen.moveTo(x, y);
        else pen.lineTo(x, y);
      }
    }
    pen.stroke();
  }

  /** The number of the area under a pixel of the page, or -1. @param {Camera} camera @param {Point} at */
  under(camera, [x, y]) {
    const width = Math.round(camera.width * camera.ratio);
    const [px, py] = [Math.floor(x * camera.ratio), Math.floor(y * camera.ratio)];
    return (this.cover[py * width + px] ?? 0) - 1;
  }
}
