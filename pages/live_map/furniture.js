// What stands around every map: zoom buttons, scale bar, tooltip, remarks, and whose streets are shown.

import { button, element } from './page.js';

/** @typedef {import('./plan_data.js').Place} Place @typedef {import('./plan_data.js').Theme} Theme */
/** @typedef {import('./camera.js').Camera} Camera @typedef {import('./plan_data.js').Point} Point */

const PARALLEL = 40_075_016.7; // metres around the equator

export class Furniture {
  /** @param {import('./ground.js').GroundMap} owner */
  constructor(owner) {
    this.owner = owner;
    this.remark = element('p', 'remark', { role: 'status' });
    this.tip = element('div', 'tip', { 'aria-hidden': 'true' });
    this.scale = element('div', 'scale', { 'aria-hidden': 'true' });
    this.credit = element('div', 'credit');
    const zoom = element('div', 'zoom', { role: 'group', 'aria-label': 'View' });
    const step = (/** @type {string} */ sign, /** @type {string} */ name, /** @type {() => void} */ act) => {
      const made = button('', sign, act);
      made.setAttribute('aria-label', name);
      made.title = name;
      return made;
    };
    zoom.append(
      step('+', 'Zoom in', () => this.zoom(1)),
      step('−', 'Zoom out', () => this.zoom(-1)),
      step('⤢', 'Reset view', () => {
        owner.touched = false;
        owner.look();
      }),
    );
    owner.over.append(this.scale, this.remark, this.credit);
    owner.box.append(zoom, this.tip);
    owner.box.addEventListener('pointermove', (event) => this.hover(event));
    owner.box.addEventListener('pointerleave', () => (this.tip.hidden = true));
    this.tip.hidden = true;
  }

  /** @param {number} by */
  zoom(by) {
    this.owner.touched = true;
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.owner.map?.zoomTo(this.owner.map.getZoom() + by, { duration: calm ? 0 : 200 });
  }

  /** @param {string} text */
  say(text) {
    this.remark.textContent = text;
  }

  /** @param {Camera} camera */
  place(camera) {
    const { place, map } = this.owner;
    if (!place) return;
    const { lat } = map?.getCenter() ?? { lat: place.view.center[1] };
    const metres = (PARALLEL * Math.cos((lat * Math.PI) / 180)) / camera.scale; // a pixel
    const raw = (camera.width * metres) / place.length.metres / 9;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw * 0.999) ?? raw;
    this.scale.style.width = `${(step * place.length.metres) / metres}px`;
    this.scale.textContent = `${Number(step.toPrecision(6))} ${place.length.name}`;
  }

  /**
   * Where scale bar, buttons and credit stand, in pixels: west, north, east, south.
   * @param {Camera} camera @returns {[number, number, number, number][]}
   */
  taken({ width, height }) {
    const bar = parseFloat(this.scale.style.width) || 0;
    return [
      [width - 16 - bar, height - 35, width, height],
      [width - 46, 0, width, 112],
      [0, height - 20, this.credit.textContent ? 190 : 0, height],
    ];
  }

  /** @param {PointerEvent} event */
  hover(event) {
    if (event.pointerType === 'touch') return;
    const { owner } = this;
    const frame = owner.box.getBoundingClientRect();
    const at = /** @type {Point} */ ([event.clientX - frame.left, event.clientY - frame.top]);
    const inside = event.composedPath().some((node) => node === owner.ground || node === owner.over);
    const text = inside ? owner.tipAt(at) : '';
    this.tip.hidden = !text;
    if (!text) return;
    this.tip.textContent = text;
    const right = at[0] > frame.width - 190;
    this.tip.style.transform = `translate(${at[0] + (right ? -14 : 14)}px, ${at[1] + 12}px) translateX(${right ? '-100%' : '0'})`;
  }
}

/**
 * The signs on the map and what they mean.
 * @param {HTMLElement} legend  filled @param {Theme} theme @param {any} data
 */
export function showLegend(legend, theme, data) {
  const ramp = theme.modes[data.colour].map((color) => `rgb(${color.join(',')})`).join(',');
  legend.style.setProperty('--ramp', `linear-gradient(90deg,${ramp})`);
  legend.style.setProperty('--path', `linear-gradient(90deg,${theme.ends.join(',')})`);
  legend.replaceChildren(
    ...data.legend.map((/** @type {[string, string]} */ [sign, text]) => {
      const item = element('span', sign ? 'item' : '');
      if (sign) item.append(element('i', sign, { 'aria-hidden': 'true' }));
      item.append(text);
      return item;
    }),
  );
}
