// Table and charts beside the map follow the dial: Streamlit drew them, and draws them anew when the dial has come to rest.

/**
 * @typedef {{traces: Record<string, Record<string, any>>, layout: Record<string, any>}} Change  what differs in a chart
 * @typedef {[string, string, string, string][]} Rows  of the table: this plan, the other, the change, its tone
 * @typedef {{rows: Rows, charts: Record<string, Change>}} Figures  at one setting
 */

const TONES = { better: '--st-green-text-color', worse: '--st-orange-text-color', same: '--st-gray-text-color' };
const FADED = '0.3';
const CHARTS = ['tradeoff', 'distances'];
const SHARE = 3; // times as long as a chart took to draw, nothing is drawn but the map

export class Beside {
  /** @param {Element} themed  inside the component, where the colours of the theme are known: the table is outside of it */
  constructor(themed) {
    this.themed = themed;
    /** @type {Map<string, Change>} */
    this.behind = new Map(); // charts that have yet to follow
    /** @type {number | undefined} */
    this.timer = undefined;
  }

  /**
   * Show the figures of a setting. Plotly takes longer for a chart than everything else in a frame does, so charts follow a
   * hand one by one between the frames; while the dial plays there is time for them from one setting to the next.
   * @param {Figures} figures @param {boolean} elsewhere  than where the page has drawn them @param {boolean} [atOnce]
   */
  show({ rows, charts }, elsewhere, atOnce = false) {
    this.fade(elsewhere, CHARTS.filter((name) => !(name in charts)));
    const theme = getComputedStyle(this.themed);
    tableRows().forEach((row, n) => {
      if (rows[n]) showRow(row, rows[n], theme);
    });
    for (const [name, change] of Object.entries(charts)) {
      if (atOnce) drawChart(name, change);
      else this.behind.set(name, change);
    }
    if (atOnce) this.rest();
    else if (this.behind.size) this.timer ??= setTimeout(() => this.drawOne());
  }

  /** Draw the chart that has waited longest. */
  drawOne() {
    this.timer = undefined;
    const [next] = this.behind;
    if (!next) return;
    this.behind.delete(next[0]);
    const begun = performance.now();
    drawChart(...next);
    if (this.behind.size) this.timer = setTimeout(() => this.drawOne(), SHARE * (performance.now() - begun));
  }

  /** Nothing has to follow any more. */
  rest() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.behind.clear();
  }

  /** Fade what cannot follow while the dial is elsewhere. @param {boolean} elsewhere @param {string[]} [names] */
  fade(elsewhere, names = ['key_figures', ...CHARTS]) {
    for (const name of names) {
      const part = document.querySelector(`.st-key-${name}`);
      if (part instanceof HTMLElement) part.style.opacity = elsewhere ? FADED : '';
    }
  }
}

/** @returns {HTMLTableRowElement[]} of the table of key figures */
function tableRows() {
  return Array.from(document.querySelectorAll('.st-key-key_figures tbody tr'));
}

/** @param {HTMLTableRowElement} row @param {Rows[number]} figures @param {CSSStyleDeclaration} theme */
function showRow(row, [plan, other, change, tone], theme) {
  const cells = row.querySelectorAll('td, th');
  if (cells.length < 4) return;
  put(cells[1], plan);
  put(cells[2], other);
  put(cells[3], change);
  const told = cells[3].querySelector('span[style], span[class]');
  if (told instanceof HTMLElement) told.style.color = theme.getPropertyValue(TONES[/** @type {'better'} */ (tone)] ?? TONES.same);
}

/** Change the words of a cell, not its nodes: those belong to Streamlit. @param {Element} cell @param {string} words */
function put(cell, words) {
  if (cell.textContent === words) return; // a change has the browser lay out the table
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(/** @type {Text} */ (walker.currentNode));
  const last = nodes.pop();
  if (!last) return;
  const room = nodes.length ? words.length - words.trimStart().length : 0; // figure spaces have a node of their own
  if (nodes.length) nodes[0].nodeValue = words.slice(0, room);
  last.nodeValue = words.slice(room);
}

/** @param {string} name @param {Change} change */
function drawChart(name, { traces, layout }) {
  const library = /** @type {any} */ (globalThis).Plotly;
  const drawn = /** @type {any} */ (document.querySelector(`.st-key-${name} .js-plotly-plot`));
  if (!library || !drawn?.data) return; // not drawn yet
  const which = Object.keys(traces).map(Number).filter((n) => n < drawn.data.length);
  const keys = new Set(which.flatMap((n) => Object.keys(traces[n])));
  const data = Object.fromEntries(Array.from(keys, (key) => [key, which.map((n) => (key in traces[n] ? traces[n][key] : drawn.data[n][key]))]));
  library.update(drawn, data, layout, which);
}
