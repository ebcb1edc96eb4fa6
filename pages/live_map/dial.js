// The fairness dial: a slider over the settings of a plan, and the button that plays it.

import { element } from './page.js';

const STOP_SECONDS = 0.3; // from one setting to the next while it plays
const LONGEST_FRAME = 0.3; // seconds; a hidden tab does not jump ahead when it is seen again
const REST = 160; // milliseconds without a key press until the page is told
const READ = 3000; // milliseconds that a remark about a jump stands

export class Dial {
  /**
   * @param {{turned(at: number): void, released(): void}} owner
   *   `turned` gets a setting, with a fraction while it plays; `released` comes once the planner lets go.
   */
  constructor(owner) {
    this.owner = owner;
    this.at = 0;
    /** @type {boolean[]} */
    this.jumps = [];
    /** @type {string[]} */
    this.t = [];
    this.moving = false; // between the first turn and the release
    this.play = element('button', 'play', { type: 'button' });
    this.input = /** @type {HTMLInputElement} */ (
      element('input', '', { type: 'range', min: '0', step: '1', 'aria-label': 'Fairness dial' })
    );
    this.shown = element('output', 'shown', { 'aria-hidden': 'true' });
    this.marks = element('div', 'marks', { 'aria-hidden': 'true' });
    this.note = element('p', 'note', { role: 'status' }); // stands on the map: what lies below must not move
    const track = element('div', 'track');
    track.append(this.marks, this.input, this.shown);
    const ends = element('div', 'ends');
    ends.append(element('span', '', {}, 'lowest average distance'), element('span', '', {}, 'nobody left far behind'));
    const turn = element('div', 'turn');
    turn.append(element('span', 'name', { 'aria-hidden': 'true' }, 'Fairness dial'), track, ends);
    this.root = element('div', 'dial');
    this.root.append(this.play, turn);
    // a finger that is about to tap a link lets go of the dial first, or the page would be told too late
    this.elsewhere = (/** @type {Event} */ event) => event.composedPath().includes(this.input) || this.release();
    this.showPlaying(false);
    this.listen();
  }

  listen() {
    this.input.addEventListener('input', () => {
      this.stop();
      this.turn(Number(this.input.value));
      clearTimeout(this.rest);
      this.rest = setTimeout(() => this.release(), REST * 4); // a drag that pauses is told, too
    });
    this.input.addEventListener('change', () => {
      clearTimeout(this.rest);
      this.rest = setTimeout(() => this.release(), REST);
    });
    this.input.addEventListener('pointerup', () => this.release());
    this.input.addEventListener('blur', () => this.release());
    document.addEventListener('pointerdown', this.elsewhere, true);
    this.play.addEventListener('click', () => (this.playing ? this.pause() : this.start()));
  }

  /** @param {string[]} t @param {boolean[]} jumps */
  stops(t, jumps) {
    this.t = t;
    this.jumps = jumps;
    this.input.max = String(t.length - 1);
    this.root.hidden = t.length < 2; // where nothing is placed there is nothing to turn
    const last = Math.max(1, t.length - 1);
    this.marks.replaceChildren(
      ...jumps.flatMap((jump, i) => {
        if (!jump) return [];
        const mark = element('i');
        mark.style.left = `${(100 * (i - 0.5)) / last}%`;
        return [mark];
      }),
    );
  }

  /** Turn to a setting; `at` has a fraction while it plays. @param {number} at */
  turn(at) {
    const [from, to] = [Math.round(this.at), Math.round(at)];
    this.moving = true;
    this.at = at;
    this.show();
    if (from !== to) this.tellJump(from, to);
    this.owner.turned(at);
  }

  /** Stand at a setting because the page says so. @param {number} at */
  stand(at) {
    this.stop();
    clearTimeout(this.rest);
    this.moving = false;
    this.at = at;
    this.show();
  }

  show() {
    const at = Math.round(this.at);
    const last = Math.max(1, this.t.length - 1);
    if (Number(this.input.value) !== at) this.input.value = String(at);
    this.shown.textContent = `t = ${this.t[at]}`;
    this.root.style.setProperty('--share', String(this.at / last));
  }

  /** @param {number} from @param {number} to */
  tellJump(from, to) {
    const [low, high] = [Math.min(from, to), Math.max(from, to)];
    const jumped = this.jumps.findLastIndex((jump, i) => jump && i > low && i <= high);
    if (jumped < 0) return;
    this.note.textContent = `At t = ${this.t[jumped]} the facilities jump to another arrangement.`;
    clearTimeout(this.read);
    this.read = setTimeout(() => this.hush(), READ);
  }

  /** Take back the remark about a jump. */
  hush() {
    clearTimeout(this.read);
    this.note.textContent = '';
  }

  release() {
    clearTimeout(this.rest);
    if (!this.moving || this.playing) return;
    this.moving = false;
    this.owner.released();
  }

  start() {
    const last = this.t.length - 1;
    if (Math.round(this.at) >= last) this.turn(0);
    this.showPlaying(true);
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    let before = performance.now();
    let exact = this.at;
    const frame = (/** @type {number} */ now) => {
      if (!this.playing) return;
      const seconds = Math.max(0, now - before) / 1000; // a frame may have begun before the click
      exact = Math.min(last, exact + Math.min(seconds, LONGEST_FRAME) / STOP_SECONDS);
      before = now;
      this.turn(calm ? Math.floor(exact) : exact);
      if (exact >= last) this.pause();
      else this.frame = requestAnimationFrame(frame);
    };
    this.frame = requestAnimationFrame(frame);
  }

  /** Stop playing where it is, without telling the page. */
  stop() {
    if (!this.playing) return;
    cancelAnimationFrame(this.frame ?? 0);
    this.showPlaying(false);
  }

  /** Stop playing at the nearest setting, and tell the page. */
  pause() {
    this.stop();
    this.turn(Math.round(this.at));
    this.release();
  }

  remove() {
    this.stop();
    this.hush();
    clearTimeout(this.rest);
    document.removeEventListener('pointerdown', this.elsewhere, true);
  }

  /** @param {boolean} playing */
  showPlaying(playing) {
    this.playing = playing;
    const icon = element('span', playing ? 'bars' : 'arrow', { 'aria-hidden': 'true' });
    this.play.replaceChildren(icon, playing ? 'Pause' : 'Play');
    this.play.title = playing ? 'Stop the dial here' : 'Turn the dial slowly from one end to the other';
  }
}
