// Facilities as buttons on the map: chosen by a click, dragged or moved by arrow keys to ask "what if it stood here?".

import { button, element } from './page.js';
import { pixelsOf } from './camera.js';
import { lengthText } from './plan_data.js';

/** @typedef {import('./plan_data.js').Plan} Plan @typedef {import('./plan_data.js').Point} Point */
/** @typedef {import('./camera.js').Camera} Camera */

const STIR = 4; // pixels a pointer may move and still be a click
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Facilities {
  /** @param {import('./map_view.js').MapView} owner */
  constructor(owner) {
    this.owner = owner;
    this.layer = element('div', 'sites');
    this.cross = element('div', 'cross', { 'aria-hidden': 'true' });
    this.card = element('div', 'card', { role: 'region', 'aria-label': 'About this place' });
    this.card.hidden = true;
    this.asked = element('div', 'asked', { 'aria-hidden': 'true' }); // where the ground was asked
    this.asked.hidden = true;
    owner.over.append(this.layer, this.asked);
    owner.box.append(this.cross, this.card);
    /** @type {HTMLElement[]} */
    this.buttons = [];
    /** @type {Point | null} */
    this.spot = null; // on the ground, asked about
  }

  /** @param {Plan} plan */
  take(plan) {
    this.plan = plan;
    this.spot = null;
    this.buttons = plan.kinds.map((kind, j) => this.made(kind, j));
    this.layer.replaceChildren(...this.buttons);
    this.showCard();
  }

  /** @param {string} kind @param {number} j */
  made(kind, j) {
    const site = element('button', `site ${kind}`, { type: 'button' }, String(this.plan?.numbers[j]));
    site.addEventListener('click', (event) => event.stopPropagation());
    site.addEventListener('pointerdown', (event) => this.grab(event, j));
    site.addEventListener('keydown', (event) => this.key(event, j));
    return site;
  }

  /** @param {number} j */
  movable(j) {
    return Boolean(this.owner.data.touch) && this.plan?.kinds[j] === 'new';
  }

  /** @param {import('./plan_data.js').Theme} theme */
  dress(theme) {
    this.buttons.forEach((site, j) => {
      site.style.setProperty('--fill', theme.sites[j]);
      site.style.setProperty('--number', theme.numbers[j]);
    });
  }

  /** @param {Camera} camera */
  place(camera) {
    const { owner, plan } = this;
    if (!plan) return;
    owner.sites('lonlat').forEach((site, j) => {
      const button_ = this.buttons[j];
      button_.style.transform = placed(pixelsOf(camera, plan, site));
      button_.classList.toggle('moved', owner.trial?.j === j);
      say(button_, 'aria-pressed', String(owner.chosen === j));
      say(button_, 'aria-label', this.name(j) + (this.movable(j) ? '. Arrow keys move it.' : ''));
    });
    this.asked.hidden = !this.spot;
    if (this.spot) this.asked.style.transform = placed(pixelsOf(camera, plan, this.spot));
    if (owner.trial && this.dragging) this.showCard();
    else if (owner.chosen !== null && !owner.trial) this.tellServed(owner.chosen);
  }

  /** @param {number} j */
  name(j) {
    const { plan, owner } = this;
    const here = owner.trial ? undefined : plan?.titled?.[Math.round(owner.at)]?.[j]; // by the name of its site
    return here ?? plan?.titles[j] ?? '';
  }

  /** @param {number} metres */
  length(metres) {
    return lengthText(/** @type {Plan} */ (this.plan), metres);
  }

  /** Whom a facility serves at the nearest setting, in two lines. @param {number} j */
  about(j) {
    const { owner, plan } = this;
    if (!plan) return [];
    const at = Math.round(owner.at);
    if (plan.served && plan.reach && !owner.trial) {
      return [`${plan.served[at][j]} ${plan.people}`, `farthest ${plan.reach[at][j]}`];
    }
    const found = this.sums(j);
    return [`about ${Math.round(found.people).toLocaleString('en-US')} ${plan.people}`, `farthest about ${this.length(found.far)}`];
  }

  /** Sums over everyone, or over those whom facility j serves, as the browser has them. @param {number | null} j */
  sums(j) {
    const { residents, label, distance } = this.owner;
    const found = { people: 0, way: 0, far: 0 };
    if (!residents || !label || !distance) return found;
    for (let i = 0; i < residents.count; i++) {
      if (j !== null && label[i] !== j) continue;
      found.people += residents.people[i];
      found.way += residents.people[i] * distance[i];
      if (residents.people[i] > 0 && distance[i] > found.far) found.far = distance[i];
    }
    return found;
  }

  /** What there is to say about the facility under the pointer. @param {Point} at */
  tipAt([x, y]) {
    const { owner, plan } = this;
    const { camera } = owner;
    if (!plan || !camera || this.dragging) return '';
    const near = (/** @type {Point} */ site, /** @type {number} */ within) => {
      const [sx, sy] = pixelsOf(camera, plan, site);
      return Math.hypot(sx - x, sy - y) <= within;
    };
    const j = owner.sites('lonlat').findIndex((site) => near(site, plan.marks.rim));
    if (j >= 0) return [this.name(j), ...(owner.service && owner.trial ? [] : this.about(j))].join('\n');
    const site = plan.candidates?.find(({ lonlat }) => near(lonlat, plan.marks.candidate + 3));
    if (site) return [site.name, 'A facility may stand here'].filter(Boolean).join('\n');
    const shown = owner.data.layers.includes('baseline');
    const ring = shown ? plan.reference.lonlat.findIndex((site) => near(site, plan.marks.ring + 2)) : -1;
    return plan.reference.tips[ring] ?? '';
  }

  /** @param {PointerEvent} event @param {number} j */
  grab(event, j) {
    if (event.button !== 0) return;
    event.stopPropagation();
    const { owner } = this;
    const site = this.buttons[j];
    const from = [event.clientX, event.clientY];
    const pointer = event.pointerId;
    try {
      site.setPointerCapture(pointer);
    } catch {
      return; // the pointer is gone already
    }
    const frame = owner.box.getBoundingClientRect();
    const move = (/** @type {PointerEvent} */ now) => {
      if (!this.movable(j) || (!this.dragging && Math.hypot(now.clientX - from[0], now.clientY - from[1]) < STIR)) return;
      this.dragging = true;
      this.lift(j, [now.clientX - frame.left, now.clientY - frame.top]);
    };
    const drop = (/** @type {PointerEvent} */ now) => {
      site.removeEventListener('pointermove', move);
      site.removeEventListener('pointerup', drop);
      site.removeEventListener('pointercancel', drop);
      if (this.dragging) this.setDown();
      else if (now.type === 'pointerup') this.choose(owner.chosen === j ? null : j);
    };
    site.addEventListener('pointermove', move);
    site.addEventListener('pointerup', drop);
    site.addEventListener('pointercancel', drop);
  }

  /** @param {KeyboardEvent} event @param {number} j */
  key(event, j) {
    const { owner } = this;
    const step = STEPS[/** @type {keyof typeof STEPS} */ (event.key)];
    if (step && this.movable(j) && owner.camera && this.plan) {
      event.preventDefault();
      const pixels = event.shiftKey ? 1 : 10;
      const from = pixelsOf(owner.camera, this.plan, owner.sites('lonlat')[j]);
      this.dragging = true;
      this.lift(j, this.next(owner.camera, this.plan, from, step, pixels));
      clearTimeout(this.rest);
      this.rest = setTimeout(() => this.setDown(), 700);
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      if (this.dragging) this.setDown();
      else this.choose(owner.chosen === j ? null : j);
    } else if (event.key === 'Escape') {
      event.preventDefault();
      if (owner.trial) this.putBack(true);
      else this.choose(null);
    }
  }

  /** @param {number} j @param {Point} pixel */
  lift(j, pixel) {
    const { owner } = this;
    owner.chosen = null;
    this.spot = null;
    owner.seq += 1; // what the server says about the plan meanwhile is older than this
    owner.trial = { j, ...this.allowed(owner.placeAt(pixel)) };
    owner.repaint();
  }

  /** Where a facility may stand: there, or on the nearest candidate site. @param {{lonlat: Point, xy: Point}} there */
  allowed(there) {
    const away = (/** @type {{xy: Point}} */ { xy }) => Math.hypot(xy[0] - there.xy[0], xy[1] - there.xy[1]);
    const candidates = this.plan?.candidates ?? [];
    const nearest = candidates.length && candidates.reduce((best, one) => (away(one) < away(best) ? one : best));
    return nearest ? { lonlat: nearest.lonlat, xy: nearest.xy } : there;
  }

  /**
   * Where an arrow key takes a facility: some pixels on, or to the nearest candidate site on that side.
   * @param {Camera} camera @param {Plan} plan @param {Point} from  in pixels @param {number[]} step @param {number} by @returns {Point}
   */
  next(camera, plan, [x, y], [dx, dy], by) {
    if (!plan.candidates) return [x + dx * by, y + dy * by];
    let best = Infinity;
    /** @type {Point} */
    let found = [x, y];
    for (const { lonlat } of plan.candidates) {
      const [px, py] = pixelsOf(camera, plan, lonlat);
      const far = Math.hypot(px - x, py - y);
      const ahead = (px - x) * dx + (py - y) * dy;
      if (far > 1 && ahead > far / 2 && far < best) [best, found] = [far, [px, py]];
    }
    return found;
  }

  setDown() {
    clearTimeout(this.rest);
    const { owner } = this;
    if (!this.dragging || !owner.trial) return;
    this.dragging = false;
    const { j, lonlat } = owner.trial;
    owner.tell('move', { j, lonlat });
    this.showCard();
    owner.repaint();
  }

  /** @param {boolean} told  whether the server has to know */
  putBack(told) {
    clearTimeout(this.rest);
    const { owner } = this;
    this.dragging = false;
    owner.trial = null;
    if (told) owner.tell('back', {});
    this.showCard();
    owner.repaint();
  }

  /** @param {number | null} j */
  choose(j) {
    const { owner } = this;
    if (owner.trial) return;
    owner.chosen = j;
    this.spot = null;
    this.showCard();
    owner.repaint();
  }

  /** The ground can be asked, too: by a click, or by Enter for the middle of the map. @param {Point} pixel */
  askGround(pixel) {
    const { owner } = this;
    if (owner.trial) return;
    const wasOpen = owner.chosen !== null || this.spot;
    owner.chosen = null;
    this.spot = !wasOpen && owner.data.pin ? this.allowed(owner.placeAt(pixel)).lonlat : null;
    this.showCard();
    owner.repaint();
  }

  /** The card about what was touched; nothing of it is more than text. */
  showCard() {
    const { owner, card, plan } = this;
    const { trial, chosen } = owner;
    card.hidden = !(trial || chosen !== null || this.spot);
    owner.furniture.tip.hidden = true;
    this.stepAside();
    if (card.hidden || !plan) return card.replaceChildren();
    if (trial) return this.showTrial(plan, trial);
    const title = (/** @type {string} */ text) => element('h2', '', {}, text);
    const close = button('plain', 'Close', () => this.choose(null));
    if (chosen !== null) {
      const hint = this.movable(chosen) ? 'Drag it, or use the arrow keys, to see what would change.' : '';
      card.replaceChildren(title(''), element('p', 'served'), element('p', 'hint', {}, hint), close);
      this.tellServed(chosen);
      return undefined;
    }
    const spot = this.spot;
    const pin = button('', `Pin one of the ${plan.k} here, place the others anew`, () => {
      this.spot = null;
      card.replaceChildren(title('Placing the others …'));
      owner.tell('keep', { lonlat: spot });
    });
    card.replaceChildren(title('What if one stands here?'), pin, close);
    return undefined;
  }

  /** Say on the card whom the chosen facility serves; it changes with the dial. @param {number} j */
  tellServed(j) {
    const [title, served] = [this.card.querySelector('h2'), this.card.querySelector('.served')];
    if (!title || !served) return;
    const [people, far] = this.about(j);
    title.textContent = this.name(j);
    served.textContent = `Serves ${people}, ${far}.`;
  }

  /** Keep the card off what it is about. */
  stepAside() {
    const { owner, plan } = this;
    const { trial, chosen, camera } = owner;
    const about = trial?.lonlat ?? (chosen === null ? this.spot : owner.sites('lonlat')[chosen]);
    if (!about || !plan || !camera) return;
    const [x, y] = pixelsOf(camera, plan, about);
    this.card.classList.toggle('high', x < 380 && y > camera.height / 2);
  }

  /** @param {Plan} plan @param {{j: number, lonlat: Point}} trial */
  showTrial(plan, trial) {
    const { owner, card } = this;
    const told = owner.data.trial;
    const answered = !this.dragging && told && told.j === trial.j && !(owner.data.seen < owner.seq);
    const body = element('div', 'figures');
    if (answered) body.append(table(told.rows));
    else if (owner.service) body.append(element('p', '', {}, this.dragging ? 'Let go to see what would change.' : 'Working it out …'));
    else {
      const found = this.sums(null);
      body.append(element('p', '', {}, `Average about ${this.length(found.way / found.people)}, farthest about ${this.length(found.far)}.`));
    }
    const keep = button('', 'Keep it there and place the others anew', () => {
      card.replaceChildren(element('h2', '', {}, 'Placing the others …'));
      owner.tell('keep', { j: trial.j, lonlat: trial.lonlat });
    });
    const back = button('plain', 'Put it back', () => this.putBack(true));
    const actions = this.dragging ? [] : owner.data.pin ? [keep, back] : [back];
    card.replaceChildren(element('h2', '', {}, `If ${lower(this.name(trial.j))} stood here`), body, ...actions);
  }
}

/** Set an attribute if it is another one: the browser looks at its styles each time. @param {Element} node @param {string} name @param {string} value */
function say(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** The style that puts the middle of an element on a pixel. @param {Point} pixel */
const placed = ([x, y]) => `translate(${x.toFixed(2)}px, ${y.toFixed(2)}px) translate(-50%, -50%)`;

/** @param {string} text */
const lower = (text) => text.slice(0, 1).toLowerCase() + text.slice(1);

/** Figures with the facility moved beside those of the plan. @param {[string, string, string, string, string][]} rows */
function table(rows) {
  const made = element('table');
  const line = (/** @type {string[]} */ texts, /** @type {string} */ tag, /** @type {string} */ tone) => {
    const row = element('tr');
    texts.forEach((text, n) => row.append(element(n ? tag : 'th', n === 3 ? tone : '', n ? {} : { scope: 'row' }, text)));
    return row;
  };
  const head = element('tr');
  for (const text of ['', 'here', 'plan', 'change']) head.append(element(text ? 'th' : 'td', '', text ? { scope: 'col' } : {}, text));
  made.append(head, ...rows.map(([label, here, plan, change, tone]) => line([label, here, plan, change], 'td', tone)));
  return made;
}
