// The farthest resident: a dot, the way to the facility, and how far it is.

import { element } from './page.js';
import { pixelsOf } from './camera.js';
import { unmapped } from './plan_data.js';

/** @typedef {import('./plan_data.js').Plan} Plan @typedef {import('./plan_data.js').Point} Point */

const SVG = 'http://www.w3.org/2000/svg';
const [LETTER, LINE, APART] = [7, 20, 9]; // pixels: a letter and a line of the label, and how far it stays from the dot

export class Farthest {
  /** @param {import('./map_view.js').MapView} owner */
  constructor(owner) {
    this.owner = owner;
    this.label = element('div', 'far-label');
    const svg = document.createElementNS(SVG, 'svg');
    svg.setAttribute('aria-hidden', 'true');
    this.way = document.createElementNS(SVG, 'polyline');
    this.home = document.createElementNS(SVG, 'circle');
    svg.append(this.way, this.home);
    owner.over.append(svg, this.label);
    /** @type {{lonlat: Point, by: number, text: string} | null} */
    this.found = null;
    /** @type {[number, number, number, number] | null} */
    this.stands = null; // the label, in pixels
    /** @type {Point[]} */
    this.trip = [];
  }

  /** @param {import('./camera.js').Camera} camera */
  place(camera) {
    const { plan, data, trial, at } = this.owner;
    if (!plan) return;
    const shown = data.layers.includes('farthest') && !trial;
    for (const part of [this.way, this.home, this.label]) part.toggleAttribute('hidden', !shown);
    const stop = Math.round(at);
    const far = this.who(plan);
    this.found = far && { lonlat: far.lonlat, by: far.by, text: plan.farthest[stop][2] };
    if (!shown || !this.found) return;
    const home = pixelsOf(camera, plan, this.found.lonlat);
    const site = pixelsOf(camera, plan, this.owner.sites('lonlat')[this.found.by]);
    const along = plan.ways?.[stop]?.map((point) => pixelsOf(camera, plan, point));
    this.way.setAttribute('points', (along ?? [home, site]).map((point) => point.map((one) => one.toFixed(1)).join(',')).join(' '));
    this.home.setAttribute('cx', String(home[0]));
    this.home.setAttribute('cy', String(home[1]));
    this.home.setAttribute('r', String(plan.marks.farthest));
    this.label.textContent = this.found.text;
    const [x, y] = this.beside(camera, plan, home, home[1] > site[1]);
    this.label.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    this.stands = [x, y, x + this.width(), y + LINE];
    this.trip = along ?? [home, site];
  }

  /** Pixels that the label takes. */
  width() {
    return 8 + LETTER * (this.label.textContent ?? '').length;
  }

  /** Where the label and the trip are, so that no name is written over them. @returns {[number, number, number, number][]} */
  taken() {
    if (this.label.hasAttribute('hidden') || !this.stands) return [];
    const boxes = [this.stands];
    this.trip.slice(1).forEach(([x, y], n) => {
      const [fromX, fromY] = this.trip[n];
      const steps = Math.max(1, Math.ceil(Math.hypot(x - fromX, y - fromY) / LINE));
      for (let step = 0; step <= steps; step++) {
        const [px, py] = [fromX + ((x - fromX) * step) / steps, fromY + ((y - fromY) * step) / steps];
        boxes.push([px - 2, py - 2, px + 2, py + 2]);
      }
    });
    return boxes;
  }

  /**
   * Where the label goes: away from the facility, on the map, and over no facility or furniture if that can be.
   * @param {import('./camera.js').Camera} camera @param {Plan} plan @param {Point} home @param {boolean} below @returns {Point}
   */
  beside(camera, plan, [x, y], below) {
    const width = this.width();
    const { rim } = plan.marks;
    const taken = this.owner.furniture.taken(camera);
    for (const site of this.owner.sites('lonlat')) {
      const [sx, sy] = pixelsOf(camera, plan, site);
      taken.push([sx - rim, sy - rim, sx + rim, sy + rim]);
    }
    const free = (/** @type {Point} */ [left, top]) =>
      top > 0 && top + LINE < camera.height &&
      taken.every(([west, north, east, south]) => east < left || west > left + width || south < top || north > top + LINE);
    const onMap = (/** @type {number} */ left) => Math.max(2, Math.min(camera.width - width - 2, left));
    const sides = below ? [y + APART, y - APART - LINE] : [y - APART - LINE, y + APART];
    const spots = sides.flatMap((top) => [0.5, 0, 1].map((share) => /** @type {Point} */ ([onMap(x - share * width), top])));
    return spots.find(free) ?? spots[0];
  }

  /** Where the farthest resident of this setting lives, and who serves them. @param {Plan} plan */
  who(plan) {
    const { owner } = this;
    const [told, by] = plan.farthest[Math.round(owner.at)];
    if (told && by !== null && (Number.isInteger(owner.at) || owner.service)) return { lonlat: told, by };
    const { residents, distance, label } = owner;
    if (!residents || !distance || !label) return null;
    let best = -1;
    for (let i = 0; i < residents.count; i++) {
      if (residents.people[i] > 0 && (best < 0 || distance[i] > distance[best])) best = i;
    }
    if (best < 0) return null;
    const half = plan.crowd.cell / 2;
    return { lonlat: unmapped(plan, [residents.mapX[best] + half, residents.mapY[best] + half]), by: label[best] };
  }
}
