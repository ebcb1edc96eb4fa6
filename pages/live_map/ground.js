// A map that can be moved: the ground by MapLibre, pictures over it, and what stands around. Plan and editor build on it.

import { Furniture } from './furniture.js';
import { Group } from './group.js';
import { Line, element, library, themeOf } from './page.js';
import { cameraAt } from './camera.js';
import { Painting } from './painting.js';
import { carry, mercator, unmapped } from './plan_data.js';
import { groundLayers, roadsFrom } from './roads.js';

/** @typedef {import('./plan_data.js').Place} Place @typedef {import('./plan_data.js').Point} Point */
/** @typedef {import('./plan_data.js').Residents} Residents */

export class GroundMap {
  /** @param {any} component @param {string} name  of the style */
  constructor(component, name) {
    this.component = component;
    this.data = component.data;
    this.seq = component.data.seen ?? 0; // after a page change the count goes on where it was
    /** @type {Place | null} */
    this.place = null;
    /** @type {Residents | null} */
    this.residents = null;
    /** @type {import('./roads.js').Roads | null} */
    this.roads = null;
    this.roadsUrl = '';
    /** @type {import('./camera.js').Camera | undefined} */
    this.camera = undefined; // where the map stood when it was painted last
    this.touched = false; // whether the planner chose the view
    this.styled = '';
    this.themed = ''; // "light" or "dark"
    /** @type {number | undefined} */
    this.frame = undefined;
    this.root = element('div', `live-map ${name}`);
    /** @type {any} */ (this.root).liveMap = this; // for tests: what is drawn can be asked for
    this.box = element('div', 'map');
    this.box.style.height = `${this.data.height}px`;
    this.ground = element('div', 'ground');
    this.over = element('div', 'over');
    this.box.append(this.ground);
    this.painting = new Painting(this.box);
    this.box.append(this.over);
    this.furniture = new Furniture(this);
    component.parentElement.append(this.root);
    this.root.addEventListener('keydown', (event) => {
      if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) event.stopPropagation(); // Streamlit's shortcuts
    });
    this.group = Group.join(this.data.group, this);
    this.line = new Line(this.data.name, () => this.sayAgain());
    /** @type {[number, number]} */
    this.size = [0, 0]; // of the map in pixels
    this.sizes = new ResizeObserver(() => this.resized());
    this.sizes.observe(this.box);
  }

  /** Draw everything that belongs to this view. */
  paint() {}

  /** Another member of the group changed. @param {import('./group.js').News} _news */
  follow(_news) {}

  /** The line is back: say what was lost. */
  sayAgain() {}

  /** What there is to say about a pixel, for the tooltip. @param {Point} _at @returns {string} */
  tipAt(_at) {
    return '';
  }

  /** A click on the ground, or Enter for the middle of the map. @param {Point} _pixel */
  askGround(_pixel) {}

  /** Escape on the ground. */
  leaveGround() {}

  /** Take the data that every map has. @param {any} data @param {any} component */
  async takeData(data, component) {
    this.component = component;
    this.data = data;
    this.box.style.height = `${data.height}px`;
    this.measure();
    if ((data.roads ?? '') !== this.roadsUrl) {
      this.roadsUrl = data.roads ?? '';
      this.roads = data.roads ? await roadsFrom(data.roads) : null;
    }
  }

  /** The colours of the theme, on this element and on the ground. */
  dressGround() {
    const { place, data } = this;
    if (!place) return;
    const name = themeOf(this.root);
    if (this.themed && this.themed !== name) this.component.setStateValue('theme', name); // the page is drawn in the other colours
    this.themed = name;
    this.theme = place.themes[name];
    const { style } = this.root;
    for (const key of ['ground', 'page', 'ink', 'muted', 'accent']) {
      style.setProperty(`--${key}`, /** @type {any} */ (this.theme)[key]);
    }
    for (const [key, value] of Object.entries(place.marks)) style.setProperty(`--mark-${key}`, `${value}px`);
    this.box.setAttribute('aria-label', data.label);
    this.box.setAttribute('role', 'group');
    this.furniture.credit.textContent = this.roads?.credit ?? '';
    const wanted = this.wanted(name);
    if (this.map && wanted !== this.styled) {
      this.styled = wanted;
      this.furniture.say('');
      this.map.setStyle(data.streets?.[name] ?? this.plainStyle(), { diff: false });
    }
  }

  /** What the ground looks like, as a text to compare. @param {string} theme */
  wanted(theme) {
    return this.data.streets?.[theme] ?? JSON.stringify([theme, this.place?.view.center, this.roadsUrl]);
  }

  /** Lay the ground once, when the first data have been painted. */
  layOnce() {
    this.root.dataset.drawn = String(Number(this.root.dataset.drawn ?? 0) + 1);
    if (this.asked) return;
    this.asked = true;
    this.lay().catch((problem) => {
      console.error(problem);
      this.furniture.say('This browser cannot move the map (WebGL is missing); everything else works.');
    });
  }

  /** The ground by MapLibre: it brings panning and zooming. Everything else is drawn without waiting for it. */
  async lay() {
    const gl = await library(this.data.library);
    if (this.removed || !this.place) return;
    const { center, zoom } = this.home();
    const name = themeOf(this.root);
    this.styled = this.wanted(name);
    this.map = new gl.Map({
      container: this.ground,
      style: this.data.streets?.[name] ?? this.plainStyle(),
      center,
      zoom,
      attributionControl: this.data.streets ? { compact: true } : false,
      dragRotate: false,
      pitchWithRotate: false,
      touchPitch: false,
      fadeDuration: 0,
      locale: { 'Map.Title': this.data.hint ?? 'Map: arrow keys move it, plus and minus zoom, Enter asks about its centre' },
    });
    this.map.touchZoomRotate.disableRotation();
    this.map.keyboard.disableRotation();
    this.map.on('move', (/** @type {any} */ event) => {
      this.paint();
      if (!event.follows) {
        const { lng, lat } = this.map.getCenter();
        this.group.share(this, { view: { center: [lng, lat], zoom: this.map.getZoom() } });
      }
    });
    this.map.on('error', (/** @type {any} */ event) => this.failed(event.error));
    this.map.once('idle', () => (this.root.dataset.ground = 'laid'));
    this.map.on('click', (/** @type {any} */ event) => this.askGround([event.point.x, event.point.y]));
    this.map.on('dragstart', () => (this.touched = true));
    this.map.on('zoomstart', (/** @type {any} */ event) => {
      if (event.originalEvent) this.touched = true;
    });
    this.map.getCanvas().addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'Enter') this.askGround([this.size[0] / 2, this.size[1] / 2]);
      if (event.key === 'Escape') this.leaveGround();
    });
    this.paint();
  }

  /** The street map from the web did not come: say so, and show the plain ground instead. @param {any} problem */
  failed(problem) {
    if (!this.data.streets) {
      console.error(problem);
      return;
    }
    this.furniture.say('The street map on the web cannot be reached, so the map is shown without it.');
    if (this.map?.isStyleLoaded?.() && this.map.getStyle()?.layers?.length) return; // only some tiles are missing
    this.map?.setStyle(this.plainStyle(), { diff: false });
  }

  plainStyle() {
    const { place, theme } = this;
    return place && theme ? groundLayers(place, theme, this.roads) : null;
  }

  /** The view that shows everyone in a box of this size. */
  home() {
    const [width, height] = this.size;
    const { center, zoom, size } = /** @type {Place} */ (this.place).view;
    return { center, zoom: zoom + Math.log2(Math.max(0.05, Math.min(width / size[0], height / size[1]))) };
  }

  /** Go back to the view that shows everyone. */
  look() {
    this.map?.jumpTo(this.home());
  }

  /** Note how large the map is: to ask while the dial turns would have the browser lay out the whole page twice a frame. */
  measure() {
    this.size = /** @type {[number, number]} */ ([this.box.clientWidth, this.box.clientHeight]);
  }

  resized() {
    this.measure();
    if (!this.place || !this.size[0]) return;
    const fresh = !this.map;
    this.map?.resize();
    if (fresh || !this.touched) this.look();
    this.paint();
  }

  /** Paint in the coming frame, once however often it is asked for. */
  repaint() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.showAll();
    });
  }

  /** This view, and whoever moves in step. */
  showAll() {
    this.paint();
  }

  /** Where the map stands now, or where it will stand once MapLibre is there. */
  standing() {
    const place = /** @type {Place} */ (this.place);
    if (!this.map) {
      const { center, zoom } = this.home();
      return cameraAt(center, zoom, place, this.size);
    }
    const { lng, lat } = this.map.getCenter();
    return cameraAt([lng, lat], this.map.getZoom(), place, this.size);
  }

  /** Longitude and latitude of a pixel, and metres. @param {Point} pixel @returns {{lonlat: Point, xy: Point}} */
  placeAt([px, py]) {
    const camera = /** @type {import('./camera.js').Camera} */ (this.camera);
    const place = /** @type {Place} */ (this.place);
    const x = (px - camera.width / 2) / camera.scale + camera.centre[0];
    const y = (py - camera.height / 2) / camera.scale + camera.centre[1];
    return { lonlat: unmapped(place, [x, y]), xy: carry(place.to_xy, [x, y]) };
  }

  /** @param {Point} lonlat @returns {Point} */
  metres(lonlat) {
    const place = /** @type {Place} */ (this.place);
    const [x, y] = mercator(lonlat);
    return carry(place.to_xy, [x - place.middle[0], y - place.middle[1]]);
  }

  remove() {
    this.removed = true;
    cancelAnimationFrame(this.frame ?? 0);
    this.sizes.disconnect();
    this.line.close();
    this.group.leave(this);
    this.map?.remove();
    this.root.remove();
  }
}
