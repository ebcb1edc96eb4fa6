// Sites, and the corners of the chosen zone, as buttons on the map: dragged, moved by arrow keys, deleted by a key.

import { element } from './page.js';
import { pixelsOf } from './camera.js';

/** @typedef {import('./plan_data.js').Point} Point @typedef {import('./editor.js').Site} Site @typedef {import('./editor.js').Zone} Zone */
/**
 * @typedef {object} Handle
 * @property {string} key @property {string} name @property {string} label @property {Point} lonlat @property {string} [text]
 * @property {boolean} [fixed]  cannot be moved @property {boolean} [pressed]
 * @property {(to: Point) => void} move  while it is dragged @property {() => void} end  when it is let go
 * @property {() => void} act  for a click or Enter @property {() => void} drop  for Delete
 */

const STIR = 4; // pixels a pointer may move and still be a click
const MOST = 400; // sites that are buttons at once: more are only drawn
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const REST = 700; // milliseconds without a key until a move is finished

export class Handles {
  /** @param {import('./editor.js').Editor} owner */
  constructor(owner) {
    this.owner = owner;
    this.layer = element('div', 'handles');
    owner.over.append(this.layer);
    /** @type {Map<string, {button: HTMLElement, handle: Handle}>} */
    this.made = new Map();
    this.many = false; // too many sites in view for a button each
  }

  /** Put every handle in its place; those that are no longer needed go. @param {import('./camera.js').Camera} camera */
  place(camera) {
    const { owner } = this;
    const place = /** @type {import('./plan_data.js').Place} */ (owner.place);
    const spot = (/** @type {Point} */ lonlat) => pixelsOf(camera, place, lonlat);
    const inView = (/** @type {{lonlat: Point}} */ { lonlat }) => {
      const [x, y] = spot(lonlat);
      return x > -20 && y > -20 && x < camera.width + 20 && y < camera.height + 20;
    };
    const sites = owner.sites.filter(inView);
    const many = sites.length > MOST;
    if (many !== this.many) owner.furniture.say(many ? 'Zoom in to edit single sites.' : '');
    this.many = many;
    const chosen = owner.chosen?.id;
    const wanted = [
      ...owner.zones.map((zone) => this.ofZone(zone)),
      ...sites.filter((site) => !many || site.id === chosen).map((site) => this.ofSite(site)),
      ...(owner.chosen?.what === 'zone' ? this.ofCorners(/** @type {Zone} */ (owner.item(owner.chosen))) : []),
    ];
    const keys = new Set(wanted.map((handle) => handle.key));
    for (const [key, { button }] of this.made) {
      if (keys.has(key)) continue;
      button.remove();
      this.made.delete(key);
    }
    for (const handle of wanted) {
      const { button } = this.button(handle);
      const [x, y] = spot(handle.lonlat);
      button.className = `handle ${handle.name}`;
      if (button.textContent !== (handle.text ?? '')) button.textContent = handle.text ?? '';
      button.style.transform = `translate(${x.toFixed(2)}px, ${y.toFixed(2)}px) translate(-50%, -50%)`;
      button.setAttribute('aria-label', handle.label);
      if (handle.pressed !== undefined) button.setAttribute('aria-pressed', String(handle.pressed));
    }
  }

  /** @param {Handle} handle */
  button(handle) {
    let known = this.made.get(handle.key);
    if (!known) {
      const button = element('button', '', { type: 'button' });
      known = { button, handle };
      this.made.set(handle.key, known);
      this.layer.append(button);
      const own = known;
      button.addEventListener('click', (event) => event.stopPropagation());
      button.addEventListener('pointerdown', (event) => this.grab(event, own));
      button.addEventListener('keydown', (event) => this.key(event, own));
    }
    known.handle = handle;
    return known;
  }

  /** @param {Site} site @returns {Handle} */
  ofSite(site) {
    const { owner } = this;
    const chosen = { what: /** @type {const} */ ('site'), id: site.id };
    const number = owner.sites.indexOf(site) + 1;
    const keys = site.locked ? 'It cannot be moved.' : 'Arrow keys move it, Delete removes it.';
    return {
      key: `site ${site.id}`,
      name: `place${site.locked ? ' locked' : ''}`,
      label: `Site ${site.name || number}. ${keys}`,
      lonlat: site.lonlat,
      fixed: site.locked,
      pressed: owner.chosen?.id === site.id,
      move: (to) => (site.lonlat = to),
      end: () => owner.changed(chosen),
      act: () => owner.choose(chosen, true),
      drop: () => owner.drop(chosen),
    };
  }

  /** A zone is chosen by its name, which stands on its upper edge. @param {Zone} zone @returns {Handle} */
  ofZone(zone) {
    const { owner } = this;
    const chosen = { what: /** @type {const} */ ('zone'), id: zone.id };
    const kind = zone.kind === 'only_in' ? 'Only in' : 'Not in';
    const name = zone.name || `zone ${owner.zones.indexOf(zone) + 1}`;
    const across = zone.ring.map(([lon]) => lon);
    return {
      key: `zone ${zone.id}`,
      name: 'title',
      text: `${kind} ${name}`,
      label: `${kind} ${name}. Enter edits it, Delete removes it.`,
      lonlat: [(Math.min(...across) + Math.max(...across)) / 2, Math.max(...zone.ring.map((corner) => corner[1]))], // on its edge: sites inside stay in sight
      fixed: true,
      pressed: owner.chosen?.id === zone.id,
      move: () => {},
      end: () => {},
      act: () => owner.choose(chosen, true),
      drop: () => owner.drop(chosen),
    };
  }

  /** The corners of a zone, and between them places for new ones. @param {Zone} zone @returns {Handle[]} */
  ofCorners(zone) {
    const { owner } = this;
    const chosen = { what: /** @type {const} */ ('zone'), id: zone.id };
    const { ring } = zone;
    return ring.flatMap((corner, n) => {
      const next = ring[(n + 1) % ring.length];
      const key = `corner ${zone.id} ${n}`;
      /** @type {Handle} */
      const here = {
        key,
        name: 'corner',
        label: `Corner ${n + 1} of ${ring.length}. Arrow keys move it, Delete removes it.`,
        lonlat: corner,
        move: (to) => (ring[n] = to),
        end: () => owner.changed(chosen),
        act: () => {},
        drop: () => {
          if (ring.length <= 3) return;
          ring.splice(n, 1);
          owner.changed(chosen);
        },
      };
      let inserted = false;
      const insert = (/** @type {Point} */ to) => {
        if (inserted) ring[n + 1] = to;
        else ring.splice(n + 1, 0, to);
        inserted = true;
      };
      /** @type {Handle} */
      const between = {
        key: `between ${zone.id} ${n} ${ring.length}`,
        name: 'between',
        label: `New corner after corner ${n + 1}. Enter puts it there.`,
        lonlat: [(corner[0] + next[0]) / 2, (corner[1] + next[1]) / 2],
        move: insert,
        end: () => owner.changed(chosen),
        act: () => {
          insert(between.lonlat);
          owner.changed(chosen);
        },
        drop: () => {},
      };
      return [here, between];
    });
  }

  /** @param {PointerEvent} event @param {{button: HTMLElement, handle: Handle}} known */
  grab(event, known) {
    if (event.button !== 0) return;
    event.stopPropagation();
    const { owner } = this;
    const { button, handle } = known;
    const from = [event.clientX, event.clientY];
    const frame = owner.box.getBoundingClientRect();
    let moved = false;
    const move = (/** @type {PointerEvent} */ now) => {
      if (handle.fixed || (!moved && Math.hypot(now.clientX - from[0], now.clientY - from[1]) < STIR)) return;
      moved = true;
      owner.seq += 1; // what the server says meanwhile is older than this
      handle.move(owner.spotAt([now.clientX - frame.left, now.clientY - frame.top]));
      owner.repaint();
    };
    const drop = (/** @type {PointerEvent} */ now) => {
      document.removeEventListener('pointermove', move, true);
      document.removeEventListener('pointerup', drop, true);
      document.removeEventListener('pointercancel', drop, true);
      if (moved) handle.end();
      else if (now.type === 'pointerup') handle.act();
      if (moved) button.focus();
    };
    // on the document: the button of a new corner is replaced while it is dragged
    document.addEventListener('pointermove', move, true);
    document.addEventListener('pointerup', drop, true);
    document.addEventListener('pointercancel', drop, true);
  }

  /** @param {KeyboardEvent} event @param {{button: HTMLElement, handle: Handle}} known */
  key(event, known) {
    const { owner } = this;
    const { handle } = known;
    const step = STEPS[/** @type {keyof typeof STEPS} */ (event.key)];
    if (step && !handle.fixed && owner.camera && owner.place && handle.name !== 'between') {
      event.preventDefault();
      const by = event.shiftKey ? 1 : 10;
      const [x, y] = pixelsOf(owner.camera, owner.place, handle.lonlat);
      owner.seq += 1;
      handle.move(owner.spotAt([x + step[0] * by, y + step[1] * by]));
      owner.paint();
      clearTimeout(this.rest);
      this.ended = () => handle.end();
      this.rest = setTimeout(() => this.finish(), REST);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      if (this.ended) this.finish();
      else handle.act();
    } else if (event.key === 'Delete' || event.key === 'Backspace') {
      event.preventDefault();
      this.finish();
      handle.drop();
    } else if (event.key === 'Escape') {
      event.preventDefault();
      this.finish();
      owner.choose(null);
    }
  }

  /** A move by keys is finished. */
  finish() {
    clearTimeout(this.rest);
    const ended = this.ended;
    this.ended = undefined;
    ended?.();
  }
}
