// The editor: candidate sites and zones are added, moved, named and deleted on the map. The server hears of every
// finished edit, together with those it has not answered yet, so that none is lost.

import { EditCard, MEANINGS } from './edit_card.js';
import { Handles } from './handles.js';
import { GroundMap } from './ground.js';
import { button, element } from './page.js';
import { pixelsOf } from './camera.js';
import { Residents, json } from './plan_data.js';
import { Shapes } from './shapes.js';
import { paintDrawing } from './sketch.js';

/** @typedef {import('./plan_data.js').Point} Point */
/** @typedef {{id: string, name: string, lonlat: Point, locked?: boolean}} Site */
/** @typedef {{id: string, name: string, kind: string, ring: Point[]}} Zone */
/** @typedef {{what: 'site' | 'zone', id: string}} Chosen */

const CLOSE = 12; // pixels from its first corner at which a click closes a zone
const TOOLS = { look: 'Select', site: 'Add site', zone: 'Draw zone' };
const HINTS = {
  look: '',
  site: 'Click where a facility may stand, or press Enter for the middle of the map.',
  zone: 'Click the corners one by one, or press Enter for the middle of the map. Close the zone at its first corner.',
};

export class Editor extends GroundMap {
  /** @param {any} component */
  constructor(component) {
    super(component, 'editor');
    /** @type {Site[]} */
    this.sites = [];
    /** @type {Zone[]} */
    this.zones = [];
    /** @type {object[]} */
    this.untold = []; // edits that the server has not answered yet
    /** @type {Chosen | null} */
    this.chosen = null;
    /** @type {Point[]} */
    this.corners = []; // of a zone that is being drawn
    /** @type {keyof typeof TOOLS} */
    this.tool = 'look';
    /** @type {Shapes | null} */
    this.shapes = null;
    /** @type {Uint16Array | null} */
    this.classes = null;
    /** @type {keyof typeof MEANINGS | undefined} */
    this.lastKind = undefined; // of the zone that was changed last
    this.urls = '';
    this.stood = '';
    this.dressed = 0;
    this.tools = element('div', 'tools', { role: 'group', 'aria-label': 'Drawing' });
    /** @type {Record<string, HTMLElement>} */
    this.buttons = {};
    for (const [tool, name] of Object.entries(TOOLS)) {
      this.buttons[tool] = button('', name, () => this.take(/** @type {keyof typeof TOOLS} */ (tool)));
      this.tools.append(this.buttons[tool]);
    }
    this.done = button('', 'Close the zone', () => this.closeZone());
    this.undo = button('', 'Undo corner', () => this.dropCorner());
    this.means = button('', '', () => {
      this.lastKind = this.kind() === 'not_in' ? 'only_in' : 'not_in';
      this.showTools();
    });
    this.means.title = 'Click to change what the zone means';
    this.tools.append(this.means, this.done, this.undo);
    this.hint = element('p', 'hint', { role: 'status' });
    this.cross = element('div', 'cross', { 'aria-hidden': 'true' });
    this.handles = new Handles(this);
    this.card = new EditCard(this);
    this.box.append(this.cross, this.tools, this.hint);
    this.root.append(this.box);
    this.take('look');
  }

  /** New data or a new theme. @param {any} data @param {any} component */
  async update(data, component) {
    const asked = this.takeData(data, component);
    const urls = JSON.stringify([data.place, data.residents, data.areas]);
    const moved = urls !== this.urls;
    if (moved) {
      const [place, residents, shapes] = await Promise.all([
        json(data.place),
        Residents.from(data.residents),
        data.areas ? Shapes.from(data.areas) : null,
        asked,
      ]);
      if (this.removed) return;
      Object.assign(this, { place, residents, shapes });
      this.classes = new Uint16Array(residents.count);
      this.urls = urls;
    }
    await asked;
    if (this.removed) return;
    if (!(data.seen < this.seq)) this.stand(data.drawing); // else it is older than what the planner did since
    if (!this.dressed) this.takeUp(data);
    else if (!(data.seen < this.seq)) this.line.answered();
    this.dressGround();
    this.dressed += 1;
    if (moved) this.look();
    this.paint();
    this.layOnce();
  }

  /** Show what the server says is drawn. @param {{sites: Site[], zones: Zone[]}} drawing */
  stand({ sites, zones }) {
    this.untold = [];
    this.sites = sites.map((site) => ({ ...site }));
    this.zones = zones.map((zone) => ({ ...zone, ring: zone.ring.map((corner) => /** @type {Point} */ ([...corner])) }));
    if (this.chosen && !this.item(this.chosen)) this.choose(null);
    this.card.refresh();
  }

  /** Take up edits that the server never heard of because the page was changed. @param {any} data */
  takeUp(data) {
    const lost = (this.line.kept() ?? []).filter((/** @type {any} */ edit) => edit.seq > data.seen);
    for (const { seq, what, ...item } of lost) {
      const kind = what.endsWith('site') ? 'sites' : 'zones';
      const at = this[kind].findIndex((one) => one.id === item.id);
      if (what.startsWith('no ')) this[kind].splice(at, at < 0 ? 0 : 1);
      else this[kind].splice(at < 0 ? this[kind].length : at, at < 0 ? 0 : 1, item);
      this.untold.push({ seq, what, ...item });
      this.seq = seq;
    }
    this.sayAgain();
  }

  /** @param {Chosen} chosen @returns {Site | Zone | undefined} */
  item({ what, id }) {
    return (what === 'site' ? this.sites : this.zones).find((one) => one.id === id);
  }

  /** What the next zone means. */
  kind() {
    return this.lastKind ?? 'not_in';
  }

  /** Choose a tool. @param {keyof typeof TOOLS} tool */
  take(tool) {
    this.tool = tool;
    this.corners = [];
    if (tool !== 'look') this.choose(null);
    this.showTools();
    this.repaint();
  }

  showTools() {
    for (const [tool, made] of Object.entries(this.buttons)) made.setAttribute('aria-pressed', String(tool === this.tool));
    this.done.hidden = this.undo.hidden = this.tool !== 'zone' || !this.corners.length;
    /** @type {HTMLButtonElement} */ (this.done).disabled = this.corners.length < 3;
    this.means.hidden = this.tool !== 'zone';
    this.means.textContent = `${MEANINGS[this.kind()]} ⇄`;
    this.hint.textContent = HINTS[this.tool];
    this.root.dataset.tool = this.tool;
  }

  /** @param {Point} pixel */
  askGround(pixel) {
    const { lonlat } = this.placeAt(pixel);
    if (this.tool === 'site') this.addSite(lonlat);
    else if (this.tool === 'zone') this.addCorner(lonlat, pixel);
    else this.choose(this.zoneUnder(pixel));
  }

  leaveGround() {
    if (this.corners.length) this.take('zone');
    else if (this.tool !== 'look') this.take('look');
    else this.choose(null);
  }

  /** Longitude and latitude of a pixel. @param {Point} pixel */
  spotAt(pixel) {
    return rounded(this.placeAt(pixel).lonlat);
  }

  /** The zone under a pixel, the one drawn last first. @param {Point} pixel @returns {Chosen | null} */
  zoneUnder([x, y]) {
    const { camera, place } = this;
    if (!camera || !place) return null;
    const within = (/** @type {Zone} */ zone) => {
      let inside = false;
      const ring = zone.ring.map((corner) => pixelsOf(camera, place, corner));
      ring.forEach(([x1, y1], n) => {
        const [x2, y2] = ring[(n + 1) % ring.length];
        if (y1 > y !== y2 > y && x < x1 + ((y - y1) / (y2 - y1)) * (x2 - x1)) inside = !inside;
      });
      return inside;
    };
    const found = [...this.zones].reverse().find(within);
    return found ? { what: 'zone', id: found.id } : null;
  }

  /** @param {Point} lonlat */
  addSite(lonlat) {
    const site = { id: `new-${this.seq + 1}`, name: '', lonlat: rounded(lonlat) };
    this.sites.push(site);
    this.tell('site', site);
    this.choose({ what: 'site', id: site.id });
  }

  /** @param {Point} lonlat @param {Point} pixel */
  addCorner(lonlat, [x, y]) {
    const { camera, place } = this;
    if (!camera || !place) return;
    if (this.corners.length >= 3) {
      const [fx, fy] = pixelsOf(camera, place, this.corners[0]);
      if (Math.hypot(fx - x, fy - y) < CLOSE) {
        this.closeZone();
        return;
      }
    }
    this.corners.push(rounded(lonlat));
    this.showTools();
    this.hint.textContent = `${this.corners.length} ${this.corners.length === 1 ? 'corner' : 'corners'}. ${HINTS.zone}`;
    this.repaint();
  }

  dropCorner() {
    this.corners.pop();
    this.showTools();
    this.repaint();
  }

  closeZone() {
    if (this.corners.length < 3) return;
    const zone = { id: `new-${this.seq + 1}`, name: '', kind: this.kind(), ring: this.corners };
    this.zones.push(zone);
    this.take('look');
    this.tell('zone', zone);
    this.choose({ what: 'zone', id: zone.id });
  }

  /** @param {Chosen | null} chosen @param {boolean} [open]  whether its name is to be edited at once */
  choose(chosen, open = false) {
    this.chosen = chosen;
    this.card.show(open);
    this.repaint();
  }

  /** An edit is finished. @param {Chosen} chosen */
  changed(chosen) {
    const item = this.item(chosen);
    if (item) this.tell(chosen.what, item);
    this.repaint();
  }

  /** @param {Chosen} chosen */
  drop(chosen) {
    const item = this.item(chosen);
    if (!item || /** @type {Site} */ (item).locked) return;
    if (chosen.what === 'site') this.sites = this.sites.filter((site) => site !== item);
    else this.zones = this.zones.filter((zone) => zone !== item);
    this.choose(null);
    this.tell(`no ${chosen.what}`, item);
    this.map?.getCanvas().focus();
  }

  /** Tell the server of an edit, and of all before it that it has not answered. @param {string} what @param {Site | Zone} item */
  tell(what, item) {
    this.seq += 1;
    this.untold.push({ seq: this.seq, what, ...structuredClone(item) });
    this.sayAgain();
  }

  sayAgain() {
    if (!this.untold.length) return;
    this.line.watch();
    this.line.keep([...this.untold]);
    this.component.setStateValue('said', { seq: this.seq, edits: [...this.untold] });
  }

  paint() {
    const { place, residents, theme } = this;
    if (!place || !residents || !theme || !this.classes || !this.size[0] || this.removed) return;
    const camera = (this.camera = this.standing());
    this.painting.fit(camera);
    const stood = JSON.stringify([camera, this.dressed, this.urls]);
    if (stood !== this.stood) {
      this.painting.paintCrowd(camera, place, residents, this.shapes, theme.modes.place, this.classes, this.classes, null);
      this.stood = stood;
    }
    this.handles.place(camera);
    paintDrawing(this.painting.cleared(this.painting.still, camera), camera, place, theme, this, this.busy());
    this.furniture.place(camera);
  }

  /** Where tools, their hint and the names of zones stand, in pixels. @returns {[number, number, number, number][]} */
  busy() {
    const frame = this.box.getBoundingClientRect();
    const parts = [this.tools, ...(this.hint.textContent ? [this.hint] : []), ...this.box.querySelectorAll('.handle.title')];
    return parts.map((part) => {
      const { left, top, right, bottom } = part.getBoundingClientRect();
      return [left - frame.left, top - frame.top, right - frame.left, bottom - frame.top];
    });
  }

  /** @param {Point} at */
  tipAt(at) {
    const zone = this.tool === 'look' ? this.zoneUnder(at) : null;
    return (zone && this.item(zone)?.name) ?? '';
  }

  /** @param {import('./group.js').News} news */
  follow({ view }) {
    if (view) this.map?.jumpTo(view, { follows: true });
  }

  /** What is drawn, for tests. */
  state() {
    const { sites, zones, corners, chosen, tool, seq } = this;
    return structuredClone({ sites, zones, corners, chosen, tool, seq });
  }
}

/** To a tenth of a metre. @param {Point} lonlat @returns {Point} */
export const rounded = ([lon, lat]) => [Number(lon.toFixed(6)), Number(lat.toFixed(6))];
