// The farthest resident: a dot, the way to the facility, and how far it is.

import { element } from './page.js';
import { pixelsOf } from './camera.js';
import { unmapped } from './plan_data.js';

/** @typedef {import('./plan_data.js').Plan} Plan @typedef {import('./plan_data.js').Point} Point */

const SVG = 'http://www.w3.org/2000/svg';

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
    const below = home[1] > site[1];
    const across = home[0] / camera.width;
    const shift = across > 0.75 ? '-100%' : across < 0.25 ? '0' : '-50%'; // never off the map
    this.label.style.transform = `translate(${home[0]}px, ${home[1] + (below ? 9 : -9)}px) translate(${shift}, ${below ? '0' : '-100%'})`;
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
