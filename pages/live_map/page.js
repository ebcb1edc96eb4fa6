// Small things about the page: elements, style sheets, the theme, the library.

/**
 * A new element; text from outside only ever becomes text.
 * @param {string} tag @param {string} [name] @param {Record<string, string>} [attributes] @param {string} [text]
 * @returns {HTMLElement}
 */
export function element(tag, name = '', attributes = {}, text = '') {
  const made = document.createElement(tag);
  if (name) made.className = name;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

/** @param {string} name @param {string} text @param {() => void} act */
export function button(name, text, act) {
  const made = element('button', name, { type: 'button' }, text);
  made.addEventListener('click', (event) => {
    event.stopPropagation();
    act();
  });
  return made;
}

/** @param {string} url @returns {Promise<HTMLElement>} a style sheet that has arrived */
export function sheet(url) {
  return new Promise((done, fail) => {
    const link = element('link', '', { rel: 'stylesheet', href: url });
    link.addEventListener('load', () => done(link));
    link.addEventListener('error', () => fail(new Error(`${url} did not arrive`)));
    document.head.append(link); // a sheet loads only while it is in the page
  });
}

/** @type {Map<string, Promise<any>>} */
const libraries = new Map();

/** MapLibre, loaded once. @param {string} url @returns {Promise<any>} */
export function library(url) {
  let found = libraries.get(url);
  if (!found) {
    found = import(url).then(() => /** @type {any} */ (globalThis).maplibregl);
    libraries.set(url, found);
  }
  return found;
}

/** "light" or "dark", by the colour of the page. @param {Element} node */
export function themeOf(node) {
  const color = getComputedStyle(node).getPropertyValue('--st-background-color').trim();
  const probe = document.createElement('canvas').getContext('2d');
  if (!probe || !color) return 'light';
  probe.fillStyle = color;
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(String(probe.fillStyle).slice(at, at + 2), 16));
  return red + green + blue < 384 ? 'dark' : 'light';
}

/**
 * What the server has not answered yet, by the name of who said it: Streamlit forgets it when the page is changed while
 * the server is busy, so it is said again once the planner is back.
 * @type {Map<string, any>}
 */
const unheard = new Map();

/** The line to the server: what is said while it is cut is lost, so it is said again when it is back. */
export class Line {
  /** @param {string} name  of who speaks @param {() => void} again */
  constructor(name, again) {
    this.name = name;
    this.again = again;
    this.app = document.querySelector('[data-testid=stApp]');
    this.cut = false;
    this.eye = new MutationObserver(() => this.watch());
    if (this.app) this.eye.observe(this.app, { attributeFilter: ['data-test-connection-state'] });
  }

  watch() {
    const now = this.app?.getAttribute('data-test-connection-state');
    const back = this.cut && now === 'CONNECTED';
    this.cut = Boolean(now) && now !== 'CONNECTED';
    if (back) this.again();
  }

  /** Keep what is being said until it is answered. @param {any} words */
  keep(words) {
    unheard.set(this.name, words);
  }

  /** What was said before the page was changed and never answered. @returns {any} */
  kept() {
    return unheard.get(this.name);
  }

  answered() {
    unheard.delete(this.name);
  }

  close() {
    this.eye.disconnect();
  }
}
