// The map of a plan: everything that follows from the dial is painted over the ground, and the dial stands above.

import { Dial } from './dial.js';
import { Facilities } from './facilities.js';
import { Farthest } from './farthest.js';
import { showLegend } from './furniture.js';
import { GroundMap } from './ground.js';
import { element } from './page.js';
import { pixelsOf } from './camera.js';
import { Residents, Service, classify, json, lengthText, nearest, parsed, serve } from './plan_data.js';
import { Shapes } from './shapes.js';

/** @typedef {import('./plan_data.js').Plan} Plan @typedef {import('./plan_data.js').Point} Point */

const NEAR = 7; // pixels from the pointer at which a resident is told about
const SAME = 0.005; // of a kilometre, mile or minute: smaller changes are not told

export class MapView extends GroundMap {
  /** @param {any} component */
  constructor(component) {
    super(component, 'plan');
    this.at = 0; // the setting, with a fraction while it plays
    /** @type {Plan | null} */
    this.plan = null;
    /** @type {Shapes | null} */
    this.shapes = null; // of residents who are areas
    /** @type {Service | null} */
    this.service = null; // who serves whom, where the browser cannot work it out
    this.urls = this.crowdUrls = this.reachUrl = '';
    /** @type {import('./plan_data.js').Catchments | null} */
    this.reach = null; // catchments of the setting they were worked out for
    this.label = new Uint16Array(0);
    this.classes = new Uint16Array(0);
    this.distance = new Float32Array(0);
    this.before = new Float32Array(0);
    this.served = this.stood = this.written = ''; // what the pictures were painted for
    /** @type {{j: number, lonlat: Point, xy: Point} | null} */
    this.trial = null; // a facility that was dragged away from its place
    /** @type {number | null} */
    this.chosen = null; // the facility whose residents stand out
    this.dial = new Dial({ turned: (at) => this.turned(at), released: () => this.tell('dial', {}) });
    this.legend = element('div', 'legend');
    this.farthest = new Farthest(this);
    this.facilities = new Facilities(this);
    this.box.append(this.dial.note);
    this.root.append(this.dial.root, this.box, this.legend);
  }

  /** New data or a new theme. @param {any} data @param {any} component */
  async update(data, component) {
    const crowd = JSON.stringify([data.residents, data.areas]);
    const moved = crowd !== this.crowdUrls;
    const urls = JSON.stringify([crowd, data.plan, data.service]);
    const asked = this.takeData(data, component);
    if (urls !== this.urls) {
      const [plan, residents, shapes, service] = await Promise.all([
        json(data.plan),
        Residents.from(data.residents),
        data.areas ? Shapes.from(data.areas) : null,
        data.service ? Service.from(data.service) : null,
        asked,
      ]);
      if (this.removed) return;
      this.take(plan, residents, shapes, service);
      [this.urls, this.crowdUrls] = [urls, crowd];
    }
    await asked;
    if ((data.catchments ?? '') !== this.reachUrl) {
      this.reachUrl = data.catchments ?? '';
      this.reach = data.catchments ? await json(data.catchments) : null;
    }
    if (this.removed) return;
    const led = this.followed !== undefined && data.turned !== this.followed;
    this.followed = data.turned;
    if (led) {
      this.seq = Math.max(this.seq, data.seen);
      this.heard(); // what was said before the page turned the dial no longer matters
    }
    const first = !this.root.dataset.drawn;
    if (led || !(data.seen < this.seq)) this.stand(data); // else it is older than what the planner did since
    if (first) this.takeUp(data);
    else if (!(data.seen < this.seq)) this.heard();
    this.dress();
    if (moved) this.look();
    this.paint();
    this.layOnce();
  }

  /** @param {Plan} plan @param {Residents} residents @param {Shapes | null} shapes @param {Service | null} service */
  take(plan, residents, shapes, service) {
    this.plan = this.place = plan;
    this.residents = residents;
    this.shapes = shapes;
    this.service = service;
    const { count } = residents;
    this.label = new Uint16Array(count);
    this.distance = new Float32Array(count);
    this.classes = new Uint16Array(count);
    this.before = new Float32Array(count);
    if (service) service.before(this.before);
    else serve(residents, plan.reference.xy, this.label, this.before);
    this.t = plan.values.map(parsed);
    this.dial.stops(plan.t, plan.jumps);
    this.dial.hush();
    this.at = Math.min(this.at, plan.t.length - 1);
    this.trial = this.chosen = null;
    this.facilities.take(plan);
    this.served = '';
  }

  /** Stand where the server says. @param {any} data */
  stand(data) {
    this.at = data.at;
    this.dial.stand(data.at);
    const told = data.trial;
    this.trial = told && this.plan ? { j: told.j, lonlat: told.lonlat, xy: this.metres(told.lonlat) } : null;
    this.facilities.showCard();
    this.group.share(this, { dial: this.t?.[data.at], seq: this.seq });
  }

  /** Go on where the planner was when the page was changed, if the server never heard of it. @param {any} data */
  takeUp(data) {
    const lost = this.line.kept();
    if (!lost || lost.seq <= data.seen || lost.plan !== data.plan || lost.turned !== data.turned) return this.heard();
    const { what, more } = lost;
    this.seq = lost.seq;
    this.at = nearest(this.t ?? [], parsed(lost.t));
    this.dial.stand(this.at);
    this.trial = what === 'move' ? { ...more, xy: this.metres(more.lonlat) } : null;
    this.group.share(this, { dial: this.t?.[this.at], seq: this.seq });
    this.tell(what, more);
    return this.facilities.showCard();
  }

  /** The server has answered everything. */
  heard() {
    this.untold = undefined;
    this.line.answered();
  }

  /** The colours of the theme, the layers and the legend. */
  dress() {
    this.dressGround();
    if (!this.plan || !this.theme) return;
    showLegend(this.legend, this.theme, this.data);
    this.facilities.dress(this.theme);
    this.served = '';
  }

  /** The dial was turned by hand or plays. @param {number} at */
  turned(at) {
    this.at = at;
    this.seq += 1;
    this.furniture.tip.hidden = true; // it tells of another setting
    if (this.trial) this.facilities.putBack(false);
    if (this.dial.playing) this.showAll(); // a frame has just begun
    else this.repaint();
  }

  /** The map, and whoever moves in step, at the setting of the dial. */
  showAll() {
    this.group.share(this, { dial: this.t?.[Math.round(this.at)], seq: this.seq, playing: this.dial.playing });
    this.paint();
  }

  /** Facilities now, gliding between two settings unless the arrangement jumps. @param {'xy' | 'lonlat'} where */
  sites(where) {
    const plan = /** @type {Plan} */ (this.plan);
    const low = Math.floor(this.at);
    const share = this.at - low;
    let sites = plan[where][Math.round(this.at)];
    if (share && !plan.jumps[low + 1]) {
      const next = plan[where][low + 1];
      sites = plan[where][low].map(([x, y], j) => [x + share * (next[j][0] - x), y + share * (next[j][1] - y)]);
    }
    if (!this.trial) return sites;
    const { trial } = this;
    return sites.map((site, j) => (j === trial.j ? trial[where] : site));
  }

  /** Who serves whom now. @param {Point[]} sites  in metres */
  serveAll(sites) {
    const { plan, residents, service } = this;
    if (!plan || !residents) return;
    if (service) {
      const which = plan.arrangement?.[Math.round(this.at)] ?? 0;
      this.label.set(service.labels(which));
      service.fill(which, this.distance);
    } else serve(residents, sites, this.label, this.distance);
    classify(this.data.colour, plan, this.label, this.distance, this.before, this.classes);
  }

  paint() {
    const { plan, residents, theme, data, shapes } = this;
    if (!plan || !residents || !theme || !this.size[0] || this.removed) return;
    const started = performance.now();
    const camera = (this.camera = this.standing());
    const layers = data.layers;
    const sites = this.sites('xy');
    const where = JSON.stringify([camera, data.layers]);
    const how = JSON.stringify([sites, data.colour, this.service && Math.round(this.at)]);
    this.painting.fit(camera);
    if (how !== this.served) this.serveAll(sites);
    const reach = this.reach && this.reach.at === this.at && !this.trial ? this.reach : null;
    const tinted = layers.includes('areas') && (shapes || !reach); // two tints over each other say nothing
    this.painting.paintAreas(camera, plan, theme, tinted ? this.grounds(camera, sites) : [], Boolean(shapes));
    if (reach) this.painting.paintReach(camera, plan, theme, reach);
    const chosen = this.trial ? null : this.chosen;
    this.painting.paintCrowd(camera, plan, residents, shapes, theme.modes[data.colour], this.classes, this.label, chosen);
    if (where !== this.stood || !this.served) this.painting.paintStill(camera, plan, theme, layers, residents, shapes);
    this.facilities.place(camera);
    this.furniture.place(camera);
    this.farthest.place(camera);
    const stop = Math.round(this.at);
    const named = JSON.stringify([where, stop]);
    if (named !== this.written || !this.served) {
      this.painting.writeNames(camera, plan, theme, residents, shapes, stop, this.farthest.taken());
      this.written = named;
    }
    this.stood = where;
    this.served = how;
    this.dial.input.setAttribute('aria-valuetext', `t = ${plan.t[stop]}, ${plan.farthest[stop][2]}`);
    this.took = performance.now() - started;
    this.frames = (this.frames ?? 0) + 1;
  }

  /** The rings of every facility's service area in pixels. @param {import('./camera.js').Camera} camera @param {Point[]} sites */
  grounds(camera, sites) {
    const plan = /** @type {Plan} */ (this.plan);
    if (!plan.arrangement) return this.painting.nearestAreas(camera, plan, sites);
    const areas = plan.grounds?.[plan.arrangement[Math.round(this.at)]] ?? [];
    return areas.map((rings) => rings.map((ring) => ring.map((corner) => pixelsOf(camera, plan, corner))));
  }

  /** @param {Point} at */
  tipAt(at) {
    return this.facilities.tipAt(at) || this.aboutResident(at);
  }

  /** What there is to say about the resident under the pointer. @param {Point} at */
  aboutResident(at) {
    const { plan, residents, camera, shapes } = this;
    if (!plan || !residents || !camera || plan.crowd.cell) return '';
    const x = (at[0] - camera.width / 2) / camera.scale + camera.centre[0];
    const y = (at[1] - camera.height / 2) / camera.scale + camera.centre[1];
    let best = (NEAR / camera.scale) ** 2;
    let who = shapes ? shapes.under(camera, at) : -1;
    for (let i = 0; who < 0 && i < residents.count; i++) {
      if (!residents.radius[i]) continue;
      const squared = (residents.mapX[i] - x) ** 2 + (residents.mapY[i] - y) ** 2;
      if (squared < best) [best, who] = [squared, i];
    }
    if (who < 0) return '';
    const people = residents.people[who];
    const by = this.facilities.name(this.label[who]);
    const counted = people === 1 ? '' : `${Math.round(people).toLocaleString('en-US')} ${plan.people}`;
    const far = this.distance[who];
    const gain = this.before[who] - far;
    const closer = Math.abs(gain) < SAME * plan.unit.size ? '' : `${lengthText(plan, Math.abs(gain))} ${gain > 0 ? 'closer' : 'farther'} than ${plan.reference.than}`;
    return [plan.names?.[who], counted, `${lengthText(plan, far)} to ${by.charAt(0).toLowerCase()}${by.slice(1)}`, closer].filter(Boolean).join('\n');
  }

  /** @param {Point} pixel */
  askGround(pixel) {
    this.facilities.askGround(pixel);
  }

  leaveGround() {
    this.facilities.choose(null);
  }

  /** Tell the server: everything that a planner does ends here, once. @param {string} what @param {object} more */
  tell(what, more) {
    this.seq += 1;
    this.untold = { what, more }; // until an answer takes it into account
    const t = this.plan?.values[Math.round(this.at)];
    this.line.watch();
    const turned = this.followed;
    this.line.keep({ seq: this.seq, what, more, t, turned, plan: this.data.plan });
    this.component.setStateValue('said', { seq: this.seq, what, t, turned, ...more });
  }

  sayAgain() {
    if (this.untold) this.tell(this.untold.what, this.untold.more);
  }

  /** Another member of the group turned its dial or moved. @param {import('./group.js').News} news */
  follow({ dial, view }) {
    if (dial !== undefined && this.t) {
      this.at = nearest(this.t, dial);
      this.dial.stand(this.at);
      this.paint();
    }
    if (view) this.map?.jumpTo(view, { follows: true });
  }

  /** What is drawn, for tests. */
  state() {
    const plan = /** @type {Plan} */ (this.plan);
    const at = Math.round(this.at);
    return {
      at,
      t: plan.t[at],
      playing: this.dial.playing,
      sites: this.sites('lonlat'),
      label: Array.from(this.label),
      classes: Array.from(this.classes),
      distance: Array.from(this.distance),
      colours: this.theme?.modes[this.data.colour],
      farthest: this.farthest.found,
      named: this.painting.named,
      trial: this.trial,
      chosen: this.chosen,
      seq: this.seq,
      took: this.took,
      frames: this.frames,
      view: this.map && { center: this.map.getCenter().toArray(), zoom: this.map.getZoom() },
      pixel: (/** @type {Point} */ lonlat) => pixelsOf(/** @type {any} */ (this.camera), plan, lonlat),
    };
  }

  remove() {
    this.dial.remove();
    super.remove();
  }
}
