// The sentence about the setting that the dial stands at, in the same frame as the map.

import { Beside } from './figures.js';
import { Group } from './group.js';
import { element } from './page.js';
import { json, nearest, parsed } from './plan_data.js';

/** @typedef {[[string, string][], [string, string][], string]} Told  headline, detail, context */

export class Sentence {
  /** @param {any} component */
  constructor(component) {
    this.root = element('div', 'sentence');
    this.headline = element('h1');
    this.detail = element('p');
    this.root.append(this.headline, this.detail);
    component.parentElement.append(this.root);
    this.group = Group.join(component.data.group, this);
    /** @type {Told[] | null} */
    this.told = null;
    /** @type {Told | null} */
    this.said = null; // what is shown
    /** @type {Told | null} */
    this.now = null; // what the page says of the setting where the dial rests
    /** @type {number[]} */
    this.t = [];
    this.url = '';
    /** @type {import('./figures.js').Figures[] | null} */
    this.figures = null; // of every setting, for what stands beside the map
    this.figuresUrl = '';
    this.beside = new Beside(this.root);
    this.figured = -1; // the setting whose figures are shown
    this.width = 0;
    this.sizes = new ResizeObserver(() => this.keepRoom());
    this.sizes.observe(this.root);
    const dressed = () => this.keepRoom(true); // type of another size needs other room
    for (const link of component.parentElement.querySelectorAll('link')) link.addEventListener('load', dressed);
    document.fonts.ready.then(dressed);
  }

  /**
   * Keep room for the longest of the sentences: what lies below must not move while the dial turns.
   * @param {boolean} [anew]  even if the width is the same
   */
  keepRoom(anew = false) {
    const { clientWidth } = this.root;
    if (!this.told || (clientWidth === this.width && !anew)) return;
    this.width = clientWidth;
    this.root.style.minHeight = '';
    const shown = this.said;
    // what the page says of the setting where the dial rests is longer than what is told of very many people meanwhile
    const heights = [...this.told, ...(this.now ? [this.now] : [])].map((told) => {
      this.say(told);
      return this.root.offsetHeight;
    });
    if (shown) this.say(shown);
    this.root.style.minHeight = `${Math.max(...heights)}px`;
  }

  /** @param {any} data */
  async update(data) {
    this.now = data.now;
    this.at = data.at;
    if (!((this.group.last.seq ?? 0) > data.seen)) { // or the dial has gone on meanwhile
      this.figured = data.at; // the page has drawn it
      this.beside.rest();
      this.beside.fade(false);
      this.say(data.now);
      const room = parseFloat(this.root.style.minHeight);
      if (this.root.offsetHeight > room) this.root.style.minHeight = `${this.root.offsetHeight}px`;
    }
    if (data.told !== this.url) {
      this.told = null;
      this.url = data.told;
      const found = await json(data.told);
      if (this.url !== data.told) return;
      this.told = found.settings;
      this.t = found.t.map(parsed);
      this.keepRoom(true);
      if ((this.group.last.seq ?? 0) > data.seen) this.follow(this.group.last);
    }
    if (data.figures !== this.figuresUrl) {
      this.figures = null;
      this.figuresUrl = data.figures;
      const found = data.figures ? await json(data.figures) : null;
      if (this.figuresUrl === data.figures) this.figures = found;
    }
  }

  /** @param {import('./group.js').News} news */
  follow({ dial, playing }) {
    if (dial === undefined || !this.told) return;
    const at = nearest(this.t, dial);
    this.say(at === this.at ? this.now : this.told[at]);
    if (at === this.figured) return;
    this.figured = at;
    if (this.figures) this.beside.show(this.figures[at], at !== this.at, playing);
    else this.beside.fade(at !== this.at);
  }

  /** @param {Told} told */
  say(told) {
    if (told === this.said) return; // the same setting, frame after frame while it plays
    this.said = told;
    const [headline, detail, context] = told;
    const pieces = (/** @type {[string, string][]} */ parts) => parts.map(([text, tone]) => element('span', tone, {}, text));
    this.headline.replaceChildren(...pieces(headline));
    this.detail.replaceChildren(...pieces(detail), element('span', 'context', {}, `${detail.length ? ' ' : ''}${context}`));
  }

  remove() {
    this.sizes.disconnect();
    this.beside.rest();
    this.group.leave(this);
    this.root.remove();
  }
}
